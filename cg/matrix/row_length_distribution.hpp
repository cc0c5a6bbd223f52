#pragma once

// How long the rows of a block are expected to be, without making the matrix. No MPI.

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
  /// Part of the rows that are shorter, and nonzeros in them per row of all.
  [[nodiscard]] double share_below(int length) const;
  [[nodiscard]] double nonzeros_below(int length) const;
};

/// The expected distribution in blocks of 1 / column_block_count of the columns. Row i is met by its own
/// vector and by a Poisson number (mean nonzer) of others; each brings nonzer positions, spread evenly over
/// the columns, so a block gets a binomial number of them. Positions that fall together are taken out on
/// average. Cost: about nonzer^2 * 40 terms, whatever n is. Checked against the classes' own rows in
/// tests/row_length_distribution_test.cpp.
RowLengthDistribution expected_row_lengths(const Problem& problem, int column_block_count);

/// From counted lengths.
RowLengthDistribution distribution_of(std::span<const std::int64_t> rows_by_length);

}  // namespace cg2d
