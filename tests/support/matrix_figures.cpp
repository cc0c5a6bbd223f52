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
  long double squares = 0.0L;
  long double entries = 0.0L;
};

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
  BlockSums mine;
  for (const double value : block.values.span().first(static_cast<size_t>(block.nonzero_count()))) {
    mine.entries += value;
    mine.squares += static_cast<long double>(value) * value;
  }
  BlockSums whole;
  for (const auto& part : group.gather_one(mine)) {
    whole.squares += part.squares;
    whole.entries += part.entries;
  }
  const auto lengths = row_lengths(block, layout, group);
  EXPECT_EQ(group.sum(block.nonzero_count()), facts.nonzero_count);
  EXPECT_EQ(*std::ranges::min_element(lengths), facts.shortest_row);
  EXPECT_EQ(*std::ranges::max_element(lengths), facts.longest_row);
  expect_near_relative(static_cast<double>(std::sqrt(whole.squares)), facts.frobenius_norm);
  expect_near_relative(static_cast<double>(whole.entries), facts.sum_of_entries);
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
