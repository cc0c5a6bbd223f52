#pragma once

// Symmetric storage: the rule that keeps one entry of each mirrored pair.

#include <cstdint>

#include "comm/block_layout.hpp"
#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// A rule that every rank can evaluate for every entry, and that halves every block evenly: the matrix is cut
/// into square tiles, tiles off the diagonal are kept like the fields of a chessboard, those of one colour
/// above the diagonal and those of the other below, and a tile on the diagonal keeps its upper triangle. The
/// rule keeps tiles, not single entries, so that a kernel finds as many entries of a row side by side as in
/// the whole matrix.
class HalfStorageRule {
 public:
  HalfStorageRule(std::int64_t n, const comm::ProcessGrid& grid);

  /// Exactly one of (row, column) and (column, row) is kept, or both are the same; global numbers.
  [[nodiscard]] bool keeps(std::int64_t row, std::int64_t column) const {
    const std::int64_t tile_row = row >> tile_shift_;
    const std::int64_t tile_column = column >> tile_shift_;
    if (tile_row == tile_column) return row <= column;
    return (tile_row < tile_column) == ((tile_row + tile_column) % 2 == 0);
  }

  [[nodiscard]] std::int64_t tile_size() const { return std::int64_t{1} << tile_shift_; }

 private:
  int tile_shift_;
};

/// Drops the entries that the rule does not keep from the block rows x columns of a symmetric matrix, in
/// place, and halves the entries on the diagonal (see kernels::Storage). Cost: one pass over the
/// entries.
void keep_half(kernels::CsrBlock& block, const comm::IndexRange& rows, const comm::IndexRange& columns,
               const HalfStorageRule& rule);

/// Prepares a rank's block, or its first rows, for kernels of a storage: nothing to do for the whole, else
/// keep_half() by the layout's rule.
void keep_stored(kernels::CsrBlock& block, kernels::Storage storage, const comm::BlockLayout& layout,
                 int rank);

}  // namespace cg2d
