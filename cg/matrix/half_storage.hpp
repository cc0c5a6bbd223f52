#pragma once

// Parts of a block: half of a symmetric one, by a rule that keeps one entry of each mirrored pair, and strips of columns.

#include "comm/block_layout.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// A rule that every rank can evaluate for every entry, and that halves every block evenly: the matrix is cut
/// into square tiles, tiles off the diagonal are kept like the fields of a chessboard, those of one colour
/// above the diagonal and those of the other below, and a tile on the diagonal keeps its upper triangle. The
/// rule keeps tiles, not single entries, and the tiles begin anew at every column block of the layout: so a
/// kernel, whose column blocks do so, too, finds as many entries of a row side by side as in the whole matrix.
/// The last tile before a column block ends is smaller, rows alike.
class HalfStorageRule {
 public:
  explicit HalfStorageRule(const comm::BlockLayout& layout);

  /// A global row or column, with the number of its tile.
  struct Position {
    int64_t index;
    int64_t tile;  ///< never falling with the index
  };
  /// Cost: log Px.
  Position position_of(int64_t index) const;

  /// Exactly one of (row, column) and (column, row) is kept, or both are the same.
  static bool keeps(const Position& row, const Position& column) {
    if (row.tile == column.tile) return row.index <= column.index;
    return (row.tile < column.tile) == ((row.tile + column.tile) % 2 == 0);
  }

  /// Rows and columns of all tiles but the last ones of the column blocks.
  int64_t tile_size() const { return int64_t{1} << tile_shift_; }

 private:
  int tile_shift_;
  int64_t tiles_per_block_ = 0;
  std::vector<int64_t> block_starts_;  // first column of each column block
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

/// Moves the entries in the columns of the range from the block to a new one, which has all rows and counts
/// its columns from the begin of the range. The block keeps its other entries and its column numbers. Cost:
/// one pass over the entries that stay; for a moment those that leave are in memory twice, unless none stays.
/// Throws std::bad_alloc.
kernels::CsrBlock take_columns(kernels::CsrBlock& block, const comm::IndexRange& columns);

}  // namespace cg2d
