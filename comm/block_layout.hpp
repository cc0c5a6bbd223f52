#pragma once

// Cuts of the index range [0, n) for a virtual Px x Py grid of ranks. Pure integer arithmetic, no MPI.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cg2d::comm {

/// A half-open range of indices.
struct IndexRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool contains(int64_t index) const { return begin <= index && index < end; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

/// Part number `part` of [0, total), cut into part_count parts that differ in size by one at most.
IndexRange share_of(int64_t total, int64_t part, int64_t part_count);
/// Cuts a range into such shares.
inline IndexRange share_of(const IndexRange& range, int64_t part, int64_t part_count) {
  const auto share = share_of(range.size(), part, part_count);
  return {.begin = range.begin + share.begin, .end = range.begin + share.end};
}

/// As many shares of the same size.
std::vector<double> equal_shares(int piece_count);
/// The sums of the shares before each piece, and that of all at the end.
std::vector<double> sums_before(std::span<const double> shares);

/// Borders of pieces with about these shares of [0, n), in any unit: one more than there are shares.
std::vector<int64_t> piece_starts_of_shares(int64_t n, std::span<const double> shares);

/// The process rows of a grid of ranks, or its process columns: the ranks whose pieces make a row block, or a column block.
enum class Line { process_row, process_column };

/// Ranks on a grid in another order than that of their numbers.
struct RankOrder {
  std::vector<int> rank_at;   ///< [place]
  std::vector<int> place_of;  ///< [rank]
};

/// The virtual plane of ranks: `columns` is Px (column blocks of the matrix), `rows` is Py (row blocks).
/// Places run along the process rows: place = row * Px + column. Rank r stands at place r unless there is another order.
struct ProcessGrid {
  int columns = 1;
  int rows = 1;
  const RankOrder* order = nullptr;  ///< by in_order(); nullptr: that of the numbers

  int rank_count() const { return columns * rows; }
  int place_of(int rank) const {
    return order == nullptr ? rank : order->place_of[static_cast<size_t>(rank)];
  }
  int rank_at_place(int place) const {
    return order == nullptr ? place : order->rank_at[static_cast<size_t>(place)];
  }
  /// [place]
  std::vector<int> ranks_by_place() const;
  int row_of(int rank) const { return place_of(rank) / columns; }
  int column_of(int rank) const { return place_of(rank) % columns; }
  int rank_at(int row, int column) const { return rank_at_place(row * columns + column); }

  /// The process row (column) of a rank, and its place in it.
  int line_of(Line line, int rank) const {
    return line == Line::process_row ? row_of(rank) : column_of(rank);
  }
  int member_of(Line line, int rank) const {
    return line == Line::process_row ? column_of(rank) : row_of(rank);
  }
  /// The number of ranks in each of them, and those of one, in the order of the pieces.
  int line_size(Line line) const { return line == Line::process_row ? columns : rows; }
  std::vector<int> ranks_of(Line line, int number) const;

  /// The grid with that rank at each place. Orders live as long as the process, equal ones once. Throws std::invalid_argument for numbers
  /// that are not those of the ranks, each once.
  ProcessGrid in_order(std::span<const int> rank_at) const;
  /// "PxxPy", as the command line takes it.
  std::string name() const;
  /// Of the same shape, whoever stands where.
  friend bool operator==(const ProcessGrid& left, const ProcessGrid& right) {
    return left.columns == right.columns && left.rows == right.rows;
  }
};

/// Every ordered factorization of rank_count, by growing Px.
std::vector<ProcessGrid> factorizations(int rank_count);

/// The cut of [0, n) into Px * Py consecutive pieces, possibly uneven, possibly empty.
///
///     row block i       pieces i*Px ... i*Px+Px-1
///     column block j    pieces j*Py ... j*Py+Py-1
///     rank (i, j)       row piece i*Px + j: its part of a product after the summation over its process row
///                       column piece j*Py + i: its part of every other vector, for the collection in its
///                       process column
///
/// The shuffle moves a piece from its row owner to its column owner.
class BlockLayout {
 public:
  /// Pieces that differ in size by one at most. Throws std::invalid_argument when n < 0 or the grid is empty.
  static BlockLayout even(int64_t n, ProcessGrid grid);

  /// Pieces by their borders: piece_starts has Px*Py + 1 entries, never falling, the first is 0, the last is
  /// n. Throws std::invalid_argument when it is anything else.
  BlockLayout(ProcessGrid grid, std::vector<int64_t> piece_starts);

  /// This cut for vectors with `count` neighbours in the place of each element: all borders are so many times
  /// as large. Communicators for it move `count` vectors at once.
  BlockLayout with_elements_times(int count) const;

  ProcessGrid grid() const { return grid_; }
  int64_t size() const { return piece_starts_.back(); }

  IndexRange piece(int number) const;
  IndexRange block_of(Line line, int number) const;
  IndexRange row_block(int process_row) const { return block_of(Line::process_row, process_row); }
  IndexRange column_block(int process_column) const { return block_of(Line::process_column, process_column); }
  /// Rows and columns of the block of a rank, and its piece of every vector but a product after the summation.
  IndexRange rows_of(int rank) const { return row_block(grid_.row_of(rank)); }
  IndexRange columns_of(int rank) const { return column_block(grid_.column_of(rank)); }
  IndexRange own_piece(int rank) const { return piece(column_piece_of(rank)); }

  /// The number of the piece of a product that `rank` owns after the summation.
  int row_piece_of(int rank) const { return grid_.place_of(rank); }
  /// The number of the piece of every other vector that `rank` owns.
  int column_piece_of(int rank) const { return grid_.column_of(rank) * grid_.rows + grid_.row_of(rank); }
  /// The rank whose column piece is `piece_number`.
  int column_owner_of(int piece_number) const {
    return grid_.rank_at(piece_number % grid_.rows, piece_number / grid_.rows);
  }

  /// The rank that owns the element of a global index of such a vector; cost log(Px * Py).
  int owner_of(int64_t index) const { return column_owner_of(piece_of(index)); }

  /// The rank to which `rank` sends its row piece in the shuffle, and the rank that sends its column piece.
  /// Either may be `rank`.
  int shuffle_destination(int rank) const { return column_owner_of(row_piece_of(rank)); }
  int shuffle_source(int rank) const { return grid_.rank_at_place(column_piece_of(rank)); }

  /// The process row (column) whose row (column) block contains the global index; cost log(Px * Py).
  int row_block_of(int64_t index) const { return piece_of(index) / grid_.columns; }
  int column_block_of(int64_t index) const { return piece_of(index) / grid_.rows; }

 private:
  int piece_of(int64_t index) const;

  ProcessGrid grid_;
  std::vector<int64_t> piece_starts_;
};

}  // namespace cg2d::comm
