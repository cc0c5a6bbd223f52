#pragma once

// The interface of a user's own matrix, wherever its rows are: a source of blocks with all that a solve needs.

#include "cg/base/process_memory.hpp"
#include "cg/matrix/files/entry_store.hpp"
#include "cg/matrix/files/permutation.hpp"
#include "cg/matrix/matrix_source.hpp"

namespace cg2d {

class TextFault;

/// The distance between the triangles of a matrix before each pair of mirrored entries became their mean.
struct Symmetrization {
  double tolerance = 0.0;
  double largest_difference = 0.0;  ///< largest |a_ij - a_ji| / sqrt(|a_ii a_jj|); 0: A was symmetric
  int64_t row = 0;  ///< row of the first pair with it, from 0, in the original order; row > column
  int64_t column = 0;

  /// "the largest difference was 2.2e-16 of sqrt(a_ii a_jj), at (2, 1)".
  std::string text() const;
};

/// Square. Everything that gets a group is collective, and throws RunError alike on every rank, MpiError and
/// std::bad_alloc.
class SystemMatrix : public MatrixSource {
 public:
  int64_t order() const { return facts_.key.order; }
  int64_t nonzero_count() const { return nonzero_count_; }
  /// The order of rows and columns in the blocks, where it is not the original one.
  const std::optional<RandomPermutation>& permutation() const { return permutation_; }
  /// Makes this rank's block as build() does, and is the last call: afterwards no more blocks can be made.
  /// Rows that are stored leave meanwhile (working_bytes()).
  [[nodiscard]] virtual kernels::CsrBlock take(const comm::BlockLayout& layout, comm::RankGroup& group) {
    return build(layout, group, 1).block;
  }
  /// Throws RunError (bad_data) that names the first pair of entries that differ, and both values. Nothing where all such matrices are symmetric.
  virtual void require_symmetric(comm::RankGroup& /*group*/) const {}
  /// Throws RunError (not_positive_definite) that names the first row without a positive diagonal entry.
  void require_positive_diagonal(comm::RankGroup& group) const;
  /// This rank's piece of the diagonal.
  HugePageVector diagonal(const comm::BlockLayout& layout, comm::RankGroup& group) const;
  /// As a weighted layout cuts by the lengths of the rows. No rank holds those of all rows.
  std::vector<int64_t> balanced_piece_starts(std::span<const double> shares,
                                             comm::RankGroup& group) const override;
  /// The nonzeros of each rank's block in a layout.
  std::vector<int64_t> nonzeros_of_blocks(const comm::BlockLayout& layout, comm::RankGroup& group) const;
  /// A hash of all that the values depend on, where that is known without them: of a matrix that is not in memory, and whose strips can
  /// be made again.
  virtual std::optional<uint64_t> content_hash() const { return std::nullopt; }
  /// Where StoredMatrix::symmetrize() has made the matrix symmetric.
  const std::optional<Symmetrization>& symmetrization() const { return symmetrization_; }

 protected:
  /// A row of which this rank knows the facts.
  struct OwnRow {
    int64_t row = 0;
    int64_t nonzeros_before = 0;  ///< in all rows before it
    int64_t length = 0;
    double diagonal = 0.0;
  };
  /// Calls visit(row) for each row of this rank, rows rising; each row is that of one rank. Local.
  void visit_own_rows(const std::function<void(const OwnRow& row)>& visit) const;
  /// The entries of a row, or of a part of it.
  using EntryVisit = std::function<void(const RowPart& part)>;
  /// Calls visit() for all entries of this rank's rows, rows rising, columns rising in each. Without values where no survey() is to come. Collective, but for
  /// the visits.
  virtual void visit_entries(comm::RankGroup& group, const EntryVisit& visit) const = 0;

  /// Visits the entries of this rank's rows, which follow those of the rank before, and sets what follows from them. name: for people. Collective.
  /// Throws RunError (not_finite) that names the first entry that is no number.
  void survey(std::string name, const comm::IndexRange& own_rows, comm::RankGroup& group);
  /// The number of a row among this rank's.
  size_t local_row(int64_t row) const { return static_cast<size_t>(row - own_rows_.begin); }
  int64_t original(int64_t row) const { return permutation_ ? permutation_->inverse(row) : row; }

  int64_t nonzero_count_ = 0;                     // nonzeros of all ranks
  std::optional<RandomPermutation> permutation_;  // empty: the original order
  std::optional<Symmetrization> symmetrization_;
  comm::IndexRange own_rows_;  // this rank's rows
  // Set by survey(), or as the binary form has it:
  int64_t nonzeros_before_ = 0;        // nonzeros in all rows before them
  std::vector<uint32_t> row_lengths_;  // their lengths
  std::vector<double> diagonal_;       // their diagonal
  uint64_t pattern_sum_ = 0;           // over the entries of all ranks
  uint64_t asymmetry_sum_ = 0;         // over the entries of all ranks; 0 for a symmetric matrix
};

/// Cuts a part of a row at the borders of the column blocks: calls visit(owner, part) for that of each block, rows counted from the first
/// of the block.
template <typename Visit>
void for_each_block_part(const comm::BlockLayout& layout, const RowPart& part, const Visit& visit) {
  const auto [row, columns, values] = part;
  const int process_row = layout.row_block_of(row);
  const auto local_row = row - layout.row_block(process_row).begin;
  for (size_t begin = 0; begin < columns.size();) {
    const int process_column = layout.column_block_of(columns[begin]);
    const auto block_end = layout.column_block(process_column).end;
    size_t end = columns.back() < block_end ? columns.size() : begin + 1;
    while (end < columns.size() && columns[end] < block_end) ++end;
    visit(layout.grid().rank_at(process_row, process_column),
          RowPart{.row = local_row,
                  .columns = columns.subspan(begin, end - begin),
                  .values = values.empty() ? values : values.subspan(begin, end - begin)});
    begin = end;
  }
}

/// The facts of a matrix by the lengths of this rank's rows; key: without its hash, which follows from pattern_sum, that of all
/// ranks. Collective.
MatrixFacts facts_of_rows(MatrixKey key, std::span<const uint32_t> row_lengths, uint64_t pattern_sum,
                          comm::RankGroup& group);

/// The sum of a number of 64 bits over all ranks, modulo 2^64. Collective.
uint64_t sum_of_words(comm::RankGroup& group, uint64_t word);

/// The fault with the least offset on any rank. Collective.
std::optional<TextFault> first_fault(const std::optional<TextFault>& own, comm::RankGroup& group);

/// Throws FileError on every rank where the ranks find different files under this name, as on nodes with folders of
/// their own: by the sizes and the first MiB. Collective.
void require_same_file(const std::string& path, comm::RankGroup& group);

}  // namespace cg2d
