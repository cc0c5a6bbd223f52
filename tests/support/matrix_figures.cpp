#include "support/matrix_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cg/matrix/matrix_source.hpp"
#include "support/npb_facts.hpp"

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
  for (int64_t row = 0; row < block.row_count; ++row) {
    const auto r = static_cast<size_t>(row);
    for (auto k = static_cast<size_t>(block.row_starts[r]); k < static_cast<size_t>(block.row_starts[r + 1]);
         ++k) {
      const long double value = block.values[k];
      const int64_t global_row = rows.begin + row;
      const int64_t global_column = columns.begin + block.columns[k];
      sums.entries += value;
      sums.squares += value * value;
      if (global_row == global_column) sums.trace += value;
      if (global_row == 0 && global_column == 0) sums.first_entry = value;
    }
  }
  return sums;
}

/// Every row's length in the whole matrix.
std::vector<int64_t> row_lengths(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                                 comm::RankGroup& group) {
  std::vector<int64_t> mine;
  for (size_t row = 0; row < static_cast<size_t>(block.row_count); ++row) {
    mine.push_back(block.row_starts[row + 1] - block.row_starts[row]);
  }
  std::vector<int64_t> lengths(static_cast<size_t>(layout.size()));
  const auto all = group.gather_all(std::span<const int64_t>(mine));
  for (int rank = 0; rank < group.size(); ++rank) {
    auto row = static_cast<size_t>(layout.row_block(layout.grid().row_of(rank)).begin);
    for (const auto length : all[static_cast<size_t>(rank)]) lengths[row++] += length;
  }
  return lengths;
}

void expect_near_relative(double value, double expected) {
  EXPECT_NEAR(value, expected, relative_tolerance * std::abs(expected));
}

/// Expects these figures of the union of all blocks. Collective.
void expect_figures(const kernels::CsrBlock& block, const comm::BlockLayout& layout, const NpbFacts& facts,
                    comm::RankGroup& group) {
  BlockSums whole;
  for (const auto& part :
       group.gather_one(sums_of(block, layout.rows_of(group.rank()), layout.columns_of(group.rank())))) {
    whole.trace += part.trace;
    whole.squares += part.squares;
    whole.entries += part.entries;
    whole.first_entry += part.first_entry;  // 0 but on one rank
  }
  const auto lengths = row_lengths(block, layout, group);
  EXPECT_EQ(group.sum(block.nonzero_count()), facts.nonzero_count);
  EXPECT_EQ(*std::ranges::min_element(lengths), facts.shortest_row);
  EXPECT_EQ(*std::ranges::max_element(lengths), facts.longest_row);
  expect_near_relative(static_cast<double>(whole.trace), facts.trace);
  expect_near_relative(static_cast<double>(std::sqrt(whole.squares)), facts.frobenius_norm);
  expect_near_relative(static_cast<double>(whole.entries), facts.sum_of_entries);
  expect_near_relative(static_cast<double>(whole.first_entry), facts.first_entry);
}

}  // namespace

void expect_facts_on_every_grid(std::string_view class_name, comm::RankGroup& group) {
  const auto& problem = *find_class(class_name);
  const auto& facts = *std::ranges::find(npb_facts, class_name, &NpbFacts::class_name);
  for (const auto& grid : comm::factorizations(group.size())) {
    SCOPED_TRACE("class " + problem.class_name + ", grid " + grid.name());
    const auto layout = comm::BlockLayout::even(problem.n, grid);
    const auto sourced = default_source().make(problem)->build(layout, group, 1);
    expect_figures(sourced.block, layout, facts, group);
    EXPECT_EQ(sourced.facts.final_seed, facts.final_seed);
    if (facts.duplicate_pairs < 0) continue;  // not known
    EXPECT_EQ(sourced.facts.duplicate_pairs, facts.duplicate_pairs);
    EXPECT_EQ(sourced.facts.out_of_range_pairs, facts.out_of_range_pairs);
  }
}

}  // namespace cg2d::test
