// The generated matrix: the union of the blocks, for many grids, against the sequential definition and the facts; what is known of its random
// vectors before they are drawn.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cg/matrix/npb_vectors.hpp"
#include "support/block_entries.hpp"
#include "support/layouts.hpp"
#include "support/mpi_test.hpp"
#include "support/npb_facts.hpp"
#include "support/npb_reference.hpp"
#include "support/test_extent.hpp"

namespace cg2d::npb_matrix_test {
namespace {

using test::group;

SourcedBlock build(const Problem& problem, const comm::BlockLayout& layout) {
  return default_source().make(problem)->build(layout, group(), 1);
}

TEST(NpbMatrixTest, TheUnionOfTheBlocksIsTheReferenceBitForBit) {
  for (const auto& problem : test::awkward_problems()) {
    const auto drawn = test::draw_reference_vectors(problem);
    const auto reference = test::build_reference_matrix(problem, drawn);
    SCOPED_TRACE("nonzer " + std::to_string(problem.nonzer));
    test::for_every_layout(problem.n, group().size(), [&](const test::NamedLayout& named) {
      const auto sourced = build(problem, named.layout);
      test::expect_block(sourced.block, reference, named.layout.rows_of(group().rank()),
                         named.layout.columns_of(group().rank()));
      EXPECT_EQ(sourced.facts.final_seed, drawn.final_seed);
      EXPECT_EQ(sourced.facts.duplicate_pairs, drawn.duplicate_pairs);
      EXPECT_EQ(sourced.facts.out_of_range_pairs, drawn.out_of_range_pairs);
    });
  }
}

/// Made on several threads.
TEST(NpbMatrixTest, StripsOfTheBlockHaveItsRows) {
  for (const auto& problem : test::awkward_problems()) {
    for (const auto& grid : comm::factorizations(group().size())) {
      const auto layout = comm::BlockLayout::even(problem.n, grid);
      const auto whole = build(problem, layout);
      for (const auto& strips :
           {Strips{.count = 1}, Strips{.count = 2}, Strips{.count = 5}, Strips{.count = 3, .row_multiple = 8},
            // Vectors are drawn again for each of many exchanges.
            Strips{.count = 2, .working_bytes = 1}}) {
        SCOPED_TRACE("n " + std::to_string(problem.n) + ", grid " + grid.name() + ", strips " +
                     std::to_string(strips.count) + " of multiples of " +
                     std::to_string(strips.row_multiple) + " rows");
        test::BlockEntries found;
        int sunk_count = 0;
        const auto facts = default_source().make(problem)->build_strips(
            layout, group(), 3, strips, [&](const kernels::CsrBlock& strip) {
              if (strip.row_count > 0) {
                EXPECT_EQ(std::ssize(found.row_lengths) % strips.row_multiple, 0);
              }
              ++sunk_count;
              EXPECT_EQ(strip.column_count, whole.block.column_count);
              found.append(strip);
            });
        EXPECT_EQ(sunk_count, strips.count);
        EXPECT_EQ(facts.final_seed, whole.facts.final_seed);
        EXPECT_TRUE(found == test::entries_of(whole.block));
      }
    }
  }
}

// ---------------------------------------------------------------- figures of the classes

/// Sums of one block; long double, so that the tests add no rounding of their own.
struct BlockSums {
  long double squares = 0.0L;
  long double entries = 0.0L;
};

void expect_near_relative(double value, double expected) {
  EXPECT_NEAR(value, expected, test::relative_tolerance * std::abs(expected));
}

/// Expects these figures of the union of all blocks. Collective.
void expect_figures(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                    const test::NpbFacts& facts) {
  BlockSums mine;
  for (const double value : block.values.span().first(static_cast<size_t>(block.nonzero_count()))) {
    mine.entries += value;
    mine.squares += static_cast<long double>(value) * value;
  }
  BlockSums whole;
  for (const auto& part : group().gather_one(mine)) {
    whole.squares += part.squares;
    whole.entries += part.entries;
  }
  std::vector<int64_t> lengths(static_cast<size_t>(layout.size()));  // of the rows of the whole matrix
  const auto first_row = layout.rows_of(group().rank()).begin;
  for (int64_t row = 0; row < block.row_count; ++row)
    lengths[static_cast<size_t>(first_row + row)] = std::ssize(block.columns_of(row));
  group().sums(lengths);
  EXPECT_EQ(group().sum(block.nonzero_count()), facts.nonzero_count);
  EXPECT_EQ(*std::ranges::min_element(lengths), facts.shortest_row);
  EXPECT_EQ(*std::ranges::max_element(lengths), facts.longest_row);
  expect_near_relative(static_cast<double>(std::sqrt(whole.squares)), facts.frobenius_norm);
  expect_near_relative(static_cast<double>(whole.entries), facts.sum_of_entries);
}

/// Expects that the matrix of a class, generated on every grid, has the figures that are known of it: counts exactly, sums to
/// relative_tolerance.
void expect_facts_on_every_grid(std::string_view class_name) {
  const auto& problem = *find_class(class_name);
  const auto& facts = *std::ranges::find(test::npb_facts, class_name, &test::NpbFacts::class_name);
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE("class " + problem.class_name + ", grid " + grid.name());
    const auto layout = comm::BlockLayout::even(problem.n, grid);
    const auto sourced = build(problem, layout);
    expect_figures(sourced.block, layout, facts);
    EXPECT_EQ(sourced.facts.final_seed, facts.final_seed);
    if (facts.duplicate_pairs < 0) continue;  // not known
    EXPECT_EQ(sourced.facts.duplicate_pairs, facts.duplicate_pairs);
    EXPECT_EQ(sourced.facts.out_of_range_pairs, facts.out_of_range_pairs);
  }
}

TEST(NpbMatrixTest, ClassSMeetsTheFacts) { expect_facts_on_every_grid("S"); }
TEST(NpbMatrixTest, ClassAMeetsTheFacts) { expect_facts_on_every_grid("A"); }

/// On few ranks it is the smallest class that is made in more than one exchange.
TEST(NpbMatrixTest, ClassBMeetsTheFacts) {
  if (!test::is_thorough() || group().size() > 2) GTEST_SKIP() << "takes long";
  expect_facts_on_every_grid("B");
}

TEST(NpbMatrixTest, ClassBIsMadeInSeveralExchangesOnOneRank) {
  const auto& problem = *find_class("B");
  const auto layout = comm::BlockLayout::even(problem.n, {.columns = 1, .rows = 1});
  const auto source = default_source().make(problem);
  const Strips at_once{.working_bytes = int64_t{1} << 50};
  EXPECT_LT(source->working_bytes(layout, {}), source->working_bytes(layout, at_once))
      << "fewer records at a time";
}

TEST(NpbVectorsTest, TheEstimateSufficesForEveryClassAndIsNotMuchMore) {
  for (const auto& facts : test::npb_facts) {
    if (facts.out_of_range_pairs < 0) continue;
    const auto& problem = *find_class(facts.class_name);
    const auto needed =
        static_cast<double>(problem.n * problem.nonzer + facts.duplicate_pairs + facts.out_of_range_pairs);
    const auto estimate = static_cast<double>(estimated_pair_count(problem));
    EXPECT_GE(estimate, needed) << "class " << facts.class_name;
    // Six standard deviations are 4 % of class S, and less of larger ones.
    EXPECT_LE(estimate, 1.06 * needed) << "class " << facts.class_name;
  }
}

TEST(NpbVectorsTest, RepetitionsAreThoseWithinTheWindow) {
  StreamShare share;
  share.positions = {5, 7, 5, 5, 9, 7, 4101, 5};  // 4101 meets 5 in a table of 4096 places
  share.values.assign(share.positions.size(), 0.25);
  share.own_count = 5;  // the last three are the halo
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  const auto found = [&](int64_t window) {
    Pairs pairs;
    for (const auto& [earlier, later] : find_repetitions(share, 100, window))
      pairs.emplace_back(earlier, later);
    return pairs;
  };
  // The two 7 are 4 apart, the last two 5 as well: too far.
  EXPECT_EQ(found(4), (Pairs{{100, 102}, {102, 103}}));
  EXPECT_EQ(found(5), (Pairs{{100, 102}, {102, 103}, {101, 105}, {103, 107}}));
}

}  // namespace
}  // namespace cg2d::npb_matrix_test
