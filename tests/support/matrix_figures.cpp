#include "support/matrix_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cg/matrix/matrix_source.hpp"
#include "support/npb_facts.hpp"

namespace cg2d::test {
namespace {

/// Sums of one block; long double, so that the tests add no rounding of their own.
struct BlockSums {
  long double trace = 0.0L;
  long double squares = 0.0L;
  long double entries = 0.0L;
};

BlockSums sums_of(const kernels::CsrBlock& block, comm::IndexRange rows, comm::IndexRange columns) {
  BlockSums sums;
  for (int64_t row = 0; row < block.row_count; ++row) {
    const auto r = static_cast<size_t>(row);
    for (auto k = static_cast<size_t>(block.row_starts[r]); k < static_cast<size_t>(block.row_starts[r + 1]);
         ++k) {
      const long double value = block.values[k];
      sums.entries += value;
      sums.squares += value * value;
      if (rows.begin + row == columns.begin + block.columns[k]) sums.trace += value;
    }
  }
  return sums;
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
  }
  EXPECT_EQ(group.sum(block.nonzero_count()), facts.nonzero_count);
  expect_near_relative(static_cast<double>(whole.trace), facts.trace);
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
