#pragma once

// Sums outer products of sparse vectors into one block in compressed sparse rows, strip of rows by strip of
// rows. No MPI.

#include <cstdint>
#include <span>
#include <vector>

#include "comm/block_layout.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// Builds the block rows x columns of  sum_k w_k v_k v_k^T + diagonal_shift * I.
///
/// Every entry sums its products in the order in which the records come (which is the order of the vectors)
/// and adds the diagonal shift last, so its bits do not depend on the grid; w * (v[r] * v[c]) makes the
/// matrix symmetric to the bit. A row's products are gathered, put in order of their columns by one bucket
/// pass, and merged: nothing larger than a row is ever sorted. Memory beyond the block: 16 bytes per (vector,
/// row) pair of a strip.
class BlockAssembler {
 public:
  /// expected_entry_count: an estimate of the block's nonzeros; a low one costs time, a high one only address
  /// space.
  BlockAssembler(comm::IndexRange rows, comm::IndexRange columns, double diagonal_shift,
                 std::int64_t expected_entry_count, int thread_count);

  /// Adds the rows that follow the last strip, up to local row `end_row`. `parts`: buffers of
  /// VectorPart records, in the order of the vectors, that hold every record whose row list meets the strip,
  /// row lists cut to the strip. Throws std::bad_alloc.
  void append_rows(std::int64_t end_row, std::span<const std::vector<std::uint64_t>> parts);

  /// Hands the block over; every row must have been appended.
  [[nodiscard]] kernels::CsrBlock finish();

 private:
  void reserve_behind(std::int64_t entry_count);
  void close_gaps(const std::vector<std::int64_t>& part_borders, const std::vector<std::int64_t>& part_starts,
                  const std::vector<std::int64_t>& part_ends);

  comm::IndexRange rows_;
  comm::IndexRange columns_;
  double diagonal_shift_;
  int thread_count_;
  std::int64_t finished_rows_ = 0;
  std::int64_t finished_entries_ = 0;
  kernels::CsrBlock block_;
};

}  // namespace cg2d
