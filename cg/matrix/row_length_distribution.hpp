#pragma once

// The expected lengths of a block's rows, without making the matrix. No MPI.

#include <cstdint>
#include <span>
#include <vector>

#include "cg/matrix/problem.hpp"

namespace cg2d {

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

}  // namespace cg2d
