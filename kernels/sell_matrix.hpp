#pragma once

// SELL-C-sigma in column blocks: rows as lanes, 16-bit columns; and the kernels on it, with whole and half storage, one vector and several: their
// loops, and what else tells them apart.
//
//                         columns
//           0         block_width   2 block_width
//           +-------------+-------------+---
//   rows  0 | block 0     | block 1     | ...     window 0: window_rows (sigma) rows
//           |   window 0  |   window 0  |
//           |     chunk 0 |     chunk 0 |         chunk: `lanes` (C) rows of the window, side by side
//           |     chunk 1 |     chunk 1 |
//           |     ...     |     ...     |
//           +-------------+-------------+---
//   sigma   | block 0     | block 1     | ...     window 1: the next window_rows rows
//           |   window 1  |   window 1  |
//           |     ...     |     ...     |
//           +-------------+-------------+---
//
//   chunk, in memory:      lane 0    lane 1   ...  lane C-1
//     step 0                 a         d              g          one entry of each row
//     step 1                 b         e              0          a shorter row is filled up with zeros
//     step 2                 c         0              0          as many steps as the longest row has entries
//
//   window, its rows:      row 0     row 1    ...              `positions`: where a row's sum stands when the
//                            5         0      ...               sums of the window's chunks are laid side by side
//
// Columns are cut into blocks of block_width, so that a block's part of p stays in the first-level cache and
// a column within the block takes 16 bits. Rows are cut into windows: in each window of each block they are
// sorted by falling length, so that the rows of a chunk have about the same length, and rows without an entry
// in the block are left out. Order in memory: block by block, window by window, chunk by chunk, step by step.
//
// Half storage also adds to sums over the columns. Lanes that do so at once must not meet in a column, so
// entries of a lane may change places, and now and then a chunk gets one more step (DistinctLanes).
//
// Source: M. Kreutzer, G. Hager, G. Wellein, H. Fehske, A. R. Bishop, SIAM J. Sci. Comput. 36(5), 2014
// (SELL-C-sigma).

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// The lanes that never have the same column in one step: none are kept apart; lanes l and l + 2 of each four;
/// all lanes of the chunk.
enum class DistinctLanes { none, pairs, all };

/// Lanes of a chunk for one vector.
inline constexpr int64_t sell_lanes = 8;

/// The cut of many rows into bands; multiples of a shape's window_rows.
struct BandSizes {
  int64_t most_rows_of_one = std::numeric_limits<int64_t>::max();  ///< up to so many rows are one band
  int64_t rows = 0;  ///< most rows of a band, where there are more
};

/// The three sizes are powers of two; block_width and window_rows are at most 2^16, with distinct lanes 2^15.
struct SellShape {
  int64_t lanes = sell_lanes;  // C: rows of a chunk
  int64_t block_width = 2048;
  int64_t window_rows = 512;
  DistinctLanes distinct = DistinctLanes::none;
  bool has_positions = false;
  BandSizes bands{};

  /// The column of a lane without an entry, if lanes are distinct: a spare one after the block's columns.
  int64_t spare_column(int64_t lane) const { return block_width + lane; }
  /// The position of a row without an entry in the block: the one after those of all chunks.
  int64_t spare_position() const { return window_rows + lanes; }
};

/// The consecutive rows of a block that one thread multiplies.
struct SellPart {
  SellShape shape;
  int64_t first_row = 0;
  int64_t row_count = 0;
  int64_t column_count = 0;
  int64_t block_count = 0;
  int64_t window_count = 0;
  PageBuffer<double> values;           // shape.lanes per step
  PageBuffer<uint16_t> columns;        // shape.lanes per step, counted from the block's first column
  PageBuffer<uint16_t> rows;           // shape.lanes per chunk, counted from the window's first row
  PageBuffer<uint32_t> steps;          // the number of steps of each chunk
  PageBuffer<uint16_t> positions;      // shape.window_rows per window with chunks, if the shape has them
  PageBuffer<int64_t> first_chunk;     // first chunk of each window, block by block, and the end
  PageBuffer<int64_t> first_step;      // first step of each block, and the end
  PageBuffer<int64_t> first_position;  // first position of each block, and the end

  /// Without arrays: the figures of the rows first_row ... first_row + row_count - 1 of a block.
  static SellPart of_rows(const SellShape& shape, int64_t first_row, int64_t row_count, int64_t column_count);
  [[nodiscard]] std::vector<StoredArray> stored_arrays();
  /// Whether every column lies in its block, or is a spare one.
  bool has_columns_in_range() const;
};

/// The bands of one thread, one at least: whole windows, of about equal size.
struct SellBands {
  std::vector<SellPart> bands;

  [[nodiscard]] std::vector<StoredArray> stored_arrays();
  bool has_columns_in_range() const;
};

/// Makes the whole block, the bands of each thread, rows split by nonzeros, each by the thread that will use it, in two passes over its
/// entries. Throws std::bad_alloc.
std::vector<SellBands> sell_parts(const CsrBlock& block, int thread_count, const SellShape& shape);

/// All rows of a block that is in files, as one band of one thread: arrays of so many bytes, in the order of stored_arrays(), with memory that is yet
/// to be lent to them. Throws std::invalid_argument for sizes that are not those of such a band.
std::vector<SellBands> external_sell_parts(const ExternalArrays& block, const SellShape& shape);

/// KernelRow::windows of a format made by sell_parts(): the first chunk of each, and its place while the format is made.
constexpr WindowMemory sell_windows(int64_t rows) {
  return {.rows = rows, .bytes = sizeof(int64_t), .making_bytes = 3 * sizeof(int64_t)};
}

// ---------------------------------------------------------------- kernels

// In entries: fetches 8 kB of values and 2 kB of columns before their use.
inline constexpr int default_sell_prefetch_distance = 1024;

/// An element of p over the columns, and the sum for the same element of q.
struct alignas(2 * sizeof(double)) ColumnPair {
  double p;
  double q;
};

/// Some column blocks of a part, to be multiplied. The vectors are those of the whole block.
struct SellOperands {
  const SellPart& part;
  int64_t first_block;
  int64_t last_block;
  int64_t prefetch_distance;
  const double* p_columns;
  double* q_rows;  // sums are added to it
  // Reproducible sums only: their low parts, and SplitConstants::low over the greatest power of two in SplitConstants::high.
  double* q_rows_low;
  double low_share;
  // Half storage only. q_columns is overwritten within the column blocks; it is added to where it already has sums of other rows.
  const double* p_rows;
  double* q_columns;
  bool is_continued;
  // Shapes with positions only, room of the thread: one column block at a time with its spare columns, and one window with its spare position.
  ColumnPair* pairs;
  double* row_sums;
};

using SellLoop = void (*)(const SellOperands& operands);

/// The loop of the reproducible form of kernel "sell", for an instruction set of the kernel.
SellLoop exact_sell_loop(InstructionSet set);

/// A kernel on SELL. With half storage a row has at most one entry per column.
struct SellForm {
  std::string_view name;  ///< must stay alive
  Storage storage = Storage::whole;
  SellShape shape{};
  SellLoop loop = nullptr;
};

/// The form for several vectors: SELL-4-1024 in column blocks.
SellForm several_sell_form(std::string_view name, Storage storage, const KernelOptions& options);
inline constexpr int64_t several_sell_lanes = 4;
inline constexpr int64_t several_sell_window_rows = 1024;

/// The kernel of a form. bands: sell_parts() of its shape. With the options' most_terms, sums are reproducible. Throws std::bad_alloc.
std::unique_ptr<SpmvKernel> make_sell_kernel(const SellForm& form, std::vector<SellBands> bands,
                                             const KernelOptions& options);

/// KernelRow::maker and external_maker, by the form for the options.
template <SellForm (*FormFor)(const KernelOptions& options)>
std::unique_ptr<SpmvKernel> make_sell(CsrBlock block, const KernelOptions& options) {
  const auto form = FormFor(options);
  return make_sell_kernel(form, sell_parts(block, options.thread_count, form.shape), options);
}
template <SellForm (*FormFor)(const KernelOptions& options)>
std::unique_ptr<SpmvKernel> make_external_sell(const ExternalArrays& block, const KernelOptions& options) {
  const auto form = FormFor(options);
  return make_sell_kernel(form, external_sell_parts(block, form.shape), options);
}

}  // namespace cg2d::kernels
