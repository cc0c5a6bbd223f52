#include "support/matrix_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace cg2d::test {
namespace {

/// Sums of one block; long double, so that the tests add no rounding of their own.
struct BlockSums {
  long double trace = 0.0L;
  long double squares = 0.0L;
  long double entries = 0.0L;
  long double first_entry = 0.0L;
};

BlockSums sums_of(const kernels::CsrBlock& block, comm::IndexRange rows, comm::IndexRange columns) {
  BlockSums sums;
  for (std::int64_t row = 0; row < block.row_count; ++row) {
    const auto r = static_cast<std::size_t>(row);
    for (auto k = static_cast<std::size_t>(block.row_starts[r]);
         k < static_cast<std::size_t>(block.row_starts[r + 1]); ++k) {
      const long double value = block.values[k];
      const std::int64_t global_row = rows.begin + row;
      const std::int64_t global_column = columns.begin + block.columns[k];
      sums.entries += value;
      sums.squares += value * value;
      if (global_row == global_column) sums.trace += value;
      if (global_row == 0 && global_column == 0) sums.first_entry = value;
    }
  }
  return sums;
}

/// Every row's length in the whole matrix.
std::vector<std::int64_t> row_lengths(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                                      comm::RankGroup& group) {
  std::vector<std::int64_t> mine;
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.row_count); ++row) {
    mine.push_back(block.row_starts[row + 1] - block.row_starts[row]);
  }
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(layout.size()));
  const auto all = group.gather_all(std::span<const std::int64_t>(mine));
  for (int rank = 0; rank < group.size(); ++rank) {
    auto row = static_cast<std::size_t>(layout.row_block(layout.grid().row_of(rank)).begin);
    for (const auto length : all[static_cast<std::size_t>(rank)]) lengths[row++] += length;
  }
  return lengths;
}

void expect_near_relative(double value, double expected) {
  EXPECT_NEAR(value, expected, relative_tolerance * std::abs(expected));
}

}  // namespace

MatrixFigures figures_of(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                         comm::RankGroup& group) {
  const auto grid = layout.grid();
  const auto mine = sums_of(block, layout.row_block(grid.row_of(group.rank())),
                            layout.column_block(grid.column_of(group.rank())));
  BlockSums whole;
  for (const auto& part : group.gather_all(std::span<const BlockSums>(&mine, 1))) {
    whole.trace += part.front().trace;
    whole.squares += part.front().squares;
    whole.entries += part.front().entries;
    whole.first_entry += part.front().first_entry;  // 0 but on one rank
  }
  const auto lengths = row_lengths(block, layout, group);
  return {.nonzero_count = group.sum(block.nonzero_count()),
          .shortest_row = *std::ranges::min_element(lengths),
          .longest_row = *std::ranges::max_element(lengths),
          .trace = static_cast<double>(whole.trace),
          .frobenius_norm = static_cast<double>(std::sqrt(whole.squares)),
          .sum_of_entries = static_cast<double>(whole.entries),
          .first_entry = static_cast<double>(whole.first_entry)};
}

void expect_facts(const MatrixFigures& figures, const NpbFacts& facts) {
  EXPECT_EQ(figures.nonzero_count, facts.nonzero_count);
  EXPECT_EQ(figures.shortest_row, facts.shortest_row);
  EXPECT_EQ(figures.longest_row, facts.longest_row);
  expect_near_relative(figures.trace, facts.trace);
  expect_near_relative(figures.frobenius_norm, facts.frobenius_norm);
  expect_near_relative(figures.sum_of_entries, facts.sum_of_entries);
  expect_near_relative(figures.first_entry, facts.first_entry);
}

const NpbFacts& facts_of(std::string_view class_name) {
  return *std::ranges::find(npb_facts, class_name, &NpbFacts::class_name);
}

}  // namespace cg2d::test
