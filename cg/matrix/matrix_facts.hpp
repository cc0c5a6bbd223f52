#pragma once

// Figures of a matrix that are known before it is made: plans, choices, profiles and the performance model
// ask for these, whatever source the matrix has.

// Row lengths: as measured, and as expected, for plans.

#include <functional>

#include "cg/matrix/problem.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

class Members;

/// Figures of the rows of one block, or of several together. Trivially copyable: ranks send it as it is.
struct RowLengths {
  int64_t critical_vector_length = 0;
  int64_t row_count = 0;
  int64_t nonzero_count = 0;
  int64_t shortest = 0;                 ///< 0 without rows
  int64_t longest = 0;                  ///< 0 without rows
  int64_t short_row_count = 0;          ///< rows below the critical vector length
  int64_t short_row_nonzero_count = 0;  ///< nonzeros in them

  /// Nonzeros per row; 0 without rows.
  double mean() const;
};

/// Counts the rows of a whole block, before a kernel takes it. Cost: one pass over the rows.
RowLengths row_lengths(const kernels::CsrBlock& block, int64_t critical_vector_length);

/// The figures of the rows of both, which must have the same critical vector length.
RowLengths merged(const RowLengths& first, const RowLengths& second);

/// Rows of the blocks of one process row, or of all, by their length: share[l] is the part of the rows with l
/// nonzeros; the shares add up to 1.
struct RowLengthDistribution {
  std::vector<double> share;

  double mean() const;
  /// Part of the rows that are shorter, and the nonzeros in these, per row of all.
  double share_below(int length) const;
  double nonzeros_below(int length) const;
};

/// The expected distribution in blocks of 1 / column_block_count of the columns of an NPB matrix. Row i is
/// met by its own vector and by a Poisson number (mean nonzer) of others; each brings nonzer positions,
/// spread evenly over the columns, so a block gets a binomial number of them. Positions that fall together
/// are taken out on average. Cost: about nonzer^2 * 40 terms, whatever n is. Checked against the classes' own
/// rows in tests/solver/cp_pacs_multiply_test.cpp.
RowLengthDistribution expected_row_lengths(const Problem& problem, int column_block_count);

/// The distribution of counted rows: rows_by_length[l] of them have l nonzeros.
RowLengthDistribution distribution_of(std::span<const int64_t> rows_by_length);

/// The rows of blocks of 1 / column_block_count of the columns, expected from those of the whole matrix: each
/// nonzero lies in a block with that probability, whatever the others do. That holds for entries spread over
/// the columns, not for a band, whose rows lie in one block or two. Cost: for each length l that occurs,
/// about 24 * sqrt(l / column_block_count) + 80 terms.
RowLengthDistribution thinned(const RowLengthDistribution& whole_rows, int column_block_count);

/// The mean in place of the nonzeros.
void describe(Members& m, RowLengths& lengths);

/// Identifies a matrix, also in files. Matrices with nonzeros in the same places compare equal, since their
/// products cost the same: the shift of an NPB matrix makes no difference.
struct MatrixKey {
  std::string name{};  ///< for people: "A", "U(n 1400, nonzer 7)", or a file's name
  int64_t order = 0;
  std::optional<int> nonzer{};  ///< the parameter of the NPB generator; empty for every other source
  uint64_t pattern_hash = 0;    ///< hash of the source and the parameters that place the nonzeros

  friend bool operator==(const MatrixKey& first, const MatrixKey& second) {
    return first.pattern_hash == second.pattern_hash;
  }
};

struct MatrixFacts {
  MatrixKey key{};
  double nonzero_count = 0.0;  ///< nonzeros of the whole matrix, expected or counted
  /// The expected rows of blocks of 1 / column_block_count of the columns.
  std::function<RowLengthDistribution(int column_block_count)> row_lengths{};
  /// Borders of the pieces of this matrix, for as many pieces as there are ranks; empty: pieces of equal numbers
  /// of rows.
  std::vector<int64_t> piece_starts{};
};

/// The key of an NPB matrix. Where class_name is no class with these numbers, the name becomes "U(n 1400,
/// nonzer 7)".
MatrixKey npb_matrix_key(std::string_view class_name, int64_t order, int nonzer);

/// The expected figures of an NPB matrix.
MatrixFacts facts_of(const Problem& problem);

/// The figures of any other matrix, from its counted rows: rows_by_length[l] of them have l nonzeros.
/// Narrower blocks have the rows that thinned() expects.
MatrixFacts counted_facts(const MatrixKey& key, std::span<const int64_t> rows_by_length);

/// FNV-1a with 64 bits (Fowler, Noll, Vo; RFC 9923). Files keep such values: they never change.
uint64_t hash_of_text(std::string_view text);

}  // namespace cg2d
