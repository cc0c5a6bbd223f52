#pragma once

// Dense blocks that the pattern of a symmetric matrix hides: sets of indices, scattered over the matrix, all pairs of which are
// entries. The unknowns of a finite element are such a set, and so is each outer product of which the NAS matrix is the sum.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "kernels/csr_block.hpp"

namespace cg2d::kernels {

/// Members of an index set.
inline constexpr int least_index_set = 4;
inline constexpr int largest_index_set = 24;  // class D has 22; the code grows with the square

/// The indices of a block: one number for each row and column, where a row and a column that are the same element of the vectors
/// (KernelOptions::column_of_row_0) share one. Columns have their own numbers, and rows that are no columns follow.
struct SharedIndices {
  int64_t row_count = 0;
  int64_t column_count = 0;
  // Those that are rows and columns, one after the other.
  int64_t first_row = 0;
  int64_t first_column = 0;
  int64_t count = 0;

  SharedIndices(const CsrBlock& block, std::optional<int64_t> column_of_row_0);

  int64_t total_count() const { return column_count + row_count - count; }
  bool is_column(int64_t index) const { return index < column_count; }
  bool is_shared(int64_t index) const { return first_column <= index && index < first_column + count; }
  int64_t of_row(int64_t row) const {
    const auto place = row - first_row;
    if (place < 0) return column_count + row;
    return place < count ? first_column + place : column_count + row - count;
  }
  /// Empty: the index is a column only.
  std::optional<int64_t> row_of(int64_t index) const {
    if (is_shared(index)) return first_row + index - first_column;
    if (is_column(index)) return std::nullopt;
    const auto row = index - column_count;
    return row < first_row ? row : row + count;
  }
};

/// Sets of shared indices, which are numbered from 0. An entry of the block is in one set at most. Those of one or two members are single
/// entries (add_single_entries).
struct IndexSets {
  std::vector<uint8_t> sizes;
  /// Set after set, rising.
  std::vector<uint32_t> members;
  /// Set after set: which entry of the block each element of the packed triangle is, counted from 1; 0: none. The members on the
  /// diagonal come first, then column j of the strict lower triangle, which holds the members j+1, j+2, ...
  std::vector<uint32_t> entries;

  static constexpr uint32_t no_entry = 0;

  bool empty() const { return sizes.empty(); }
};

/// Elements of a packed triangle with its diagonal.
constexpr int64_t packed_size(int64_t size) { return size * (size + 1) / 2; }

/// Finds sets in a block that stores one entry of each mirrored pair (Storage::half), from its pattern alone. At least three of four
/// pairs of a set are entries that no set before it has. No sets: a sample of the rows shows none, a quarter of the entries are not
/// between shared indices, a quarter of the pairs would be in none, more than a fifth of what they store would be zeros, or the block has
/// 2^32 entries. Cost: two passes over the entries, and for each set the rows of its first two members' common indices, or a search in a
/// row that is far longer than others. Takes 13 bytes for each of these entries while it works, and 4 for the result. Throws std::bad_alloc.
IndexSets find_index_sets(const CsrBlock& half, const SharedIndices& shared, int thread_count = 1,
                          int most_members = largest_index_set);

/// Whether each entry of the block is in a set; and one more in front, for no_entry.
std::vector<bool> entries_in_sets(const CsrBlock& half, const IndexSets& sets);

/// Entries between shared indices that are in no set become sets of their own, if they are fewer than the indices: another kernel would take longer
/// to go over its vectors. Cost: one pass over the entries. Throws std::bad_alloc.
void add_single_entries(const CsrBlock& half, const SharedIndices& shared, IndexSets& sets,
                        std::vector<bool>& is_in_set);

// ---------------------------------------------------------------- products

/// How many sets ahead p and q are fetched.
inline constexpr int64_t sets_ahead = 5;
/// Elements behind the last ones that a loop may read.
inline constexpr size_t spare_values = 4;
inline constexpr size_t spare_members = static_cast<size_t>(sets_ahead) * largest_index_set;

/// Sets of one size, one after the other.
struct SetRange {
  const double* values;     // packed triangles
  const uint32_t* members;  // places of their elements of p
  int64_t count;
  int64_t prefetch_distance;
};
/// The loop for one size. pairs: p and q of each shared index, so that a member is twice its index. Adds to q.
using SetLoop = void (*)(const SetRange& range, double* pairs);

/// Larger sets have no loop for several vectors, whose code grows with the square of the size.
inline constexpr int largest_set_of_several = 16;
/// Several vectors over the shared indices, the elements of an index side by side; a member is the place of its first one.
struct SetVectors {
  const double* p;
  double* q;  // is added to
  int64_t count;
};
using SeveralSetLoop = void (*)(const SetRange& range, const SetVectors& vectors);

/// make(size) with a size of Least ... Largest as a constant.
template <int Least, int Largest, typename Make>
auto with_size(int size, const Make& make) {
  if constexpr (Least < Largest) {
    if (size != Least) return with_size<Least + 1, Largest>(size, make);
  }
  return make(std::integral_constant<int, Least>());
}

}  // namespace cg2d::kernels
