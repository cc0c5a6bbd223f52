#pragma once

// Row lengths: as measured, and as expected, for plans.

#include <cstdint>
#include <span>
#include <vector>

#include "cg/matrix/problem.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

class Members;

/// Figures of the rows of one block, or of several together. Trivially copyable: ranks send it as it is.
struct RowLengths {
  std::int64_t critical_vector_length = 0;
  std::int64_t row_count = 0;
  std::int64_t nonzero_count = 0;
  std::int64_t shortest = 0;                 ///< 0 without rows
  std::int64_t longest = 0;                  ///< 0 without rows
  std::int64_t short_row_count = 0;          ///< rows below the critical vector length
  std::int64_t short_row_nonzero_count = 0;  ///< nonzeros in them

  /// Nonzeros per row; 0 without rows.
  [[nodiscard]] double mean() const;
  /// Parts of all rows and of all nonzeros, 0 to 1; 0 where there are none.
  [[nodiscard]] double short_row_share() const;
  [[nodiscard]] double short_row_nonzero_share() const;
};

/// Counts the rows of a whole block, before a kernel takes it. Cost: one pass over the rows.
RowLengths row_lengths(const kernels::CsrBlock& block, std::int64_t critical_vector_length);

/// The figures of the rows of both, which must have the same critical vector length.
RowLengths merged(const RowLengths& first, const RowLengths& second);

/// Rows of the blocks of one process row, or of all, by their length: share[l] is the part of the rows with l
/// nonzeros; the shares add up to 1.
struct RowLengthDistribution {
  std::vector<double> share;

  [[nodiscard]] double mean() const;
  /// Part of the rows that are shorter, and the nonzeros in these, per row of all.
  [[nodiscard]] double share_below(int length) const;
  [[nodiscard]] double nonzeros_below(int length) const;
};

/// The expected distribution in blocks of 1 / column_block_count of the columns of an NPB matrix. Row i is
/// met by its own vector and by a Poisson number (mean nonzer) of others; each brings nonzer positions,
/// spread evenly over the columns, so a block gets a binomial number of them. Positions that fall together
/// are taken out on average. Cost: about nonzer^2 * 40 terms, whatever n is. Checked against the classes' own
/// rows in tests/solver/cp_pacs_multiply_test.cpp.
RowLengthDistribution expected_row_lengths(const Problem& problem, int column_block_count);

/// The distribution of counted rows: rows_by_length[l] of them have l nonzeros.
RowLengthDistribution distribution_of(std::span<const std::int64_t> rows_by_length);

/// The rows of blocks of 1 / column_block_count of the columns, expected from those of the whole matrix: each
/// nonzero lies in a block with that probability, whatever the others do. That holds for entries spread over
/// the columns, not for a band, whose rows lie in one block or two. Cost: for each length l that occurs,
/// about 24 * sqrt(l / column_block_count) + 80 terms.
RowLengthDistribution thinned(const RowLengthDistribution& whole_rows, int column_block_count);

/// The mean in place of the nonzeros.
void describe(Members& m, RowLengths& lengths);

}  // namespace cg2d
