#pragma once

// SELL-C-sigma in column blocks: rows as lanes, 16-bit columns.
//
//   block 0            block 1           The columns are cut into blocks of block_width: a block's part of p
//   stays in
//   +-----------------+---------------   the first-level cache, and a column within it takes 16 bits.
//   | window 0        | window 0         The rows are cut into windows of window_rows (sigma). In each window
//   of each block |   chunk 0       |                  the rows are taken by falling length, lanes (C) at a
//   time: that is a chunk. Step j |   chunk 1 ...   |                  of a chunk holds entry j of each of
//   its rows, side by side; rows that are shorter | window 1        |                  than the first are
//   filled up with zeros. Rows that the block does not meet are left |   ...           | out. Storage runs
//   block by block, window by window, chunk by chunk.
//
// Source: M. Kreutzer, G. Hager, G. Wellein, H. Fehske, A. R. Bishop, SIAM J. Sci. Comput. 36(5), 2014
// (SELL-C-sigma).

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/csr_block.hpp"

namespace cg2d::kernels {

/// Powers of two; block_width and window_rows at most 2^16.
struct SellShape {
  std::int64_t lanes = 8;  // C: rows of a chunk
  std::int64_t block_width = 2048;
  std::int64_t window_rows = 512;
};

/// Consecutive rows of a block, as one thread multiplies them.
struct SellPart {
  SellShape shape;
  std::int64_t first_row = 0;
  std::int64_t row_count = 0;
  std::int64_t block_count = 0;
  std::int64_t window_count = 0;
  PageBuffer<double> values;              // shape.lanes per step
  PageBuffer<std::uint16_t> columns;      // likewise, counted from the block's first column
  PageBuffer<std::uint16_t> rows;         // shape.lanes per chunk, counted from the window's first row
  PageBuffer<std::uint32_t> steps;        // of each chunk
  std::vector<std::int64_t> first_chunk;  // of each block's windows, block by block, and the end
  std::vector<std::int64_t> first_step;   // of each block, and the end

  /// Bytes that one product reads.
  [[nodiscard]] std::int64_t byte_count() const;
};

/// The whole block, one part per thread, rows split by nonzeros. Every part is made by the thread that will
/// use it, in two passes over its entries. Throws std::bad_alloc.
std::vector<SellPart> sell_parts(const CsrBlock& block, int thread_count, const SellShape& shape);

}  // namespace cg2d::kernels
