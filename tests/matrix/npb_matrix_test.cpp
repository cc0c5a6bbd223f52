// The generated matrix: the union of the blocks, for many grids, against the sequential definition and the
// facts.

#include <gtest/gtest.h>

#include <string>

#include "cg/matrix/matrix_source.hpp"
#include "support/block_entries.hpp"
#include "support/layouts.hpp"
#include "support/mpi_test.hpp"
#include "support/npb_reference.hpp"

namespace cg2d::npb_matrix_test {
namespace {

using test::group;

SourcedBlock build(const Problem& problem, const comm::BlockLayout& layout, int thread_count = 1) {
  return default_source().make(problem)->build(layout, group(), thread_count);
}

/// This rank's block has the entries of the reference.
void expect_block(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                  const test::ReferenceMatrix& reference) {
  test::expect_block(block, reference, layout.rows_of(group().rank()), layout.columns_of(group().rank()));
}

int64_t entry_count(const test::ReferenceMatrix& matrix) {
  int64_t count = 0;
  for (const auto& row : matrix) count += static_cast<int64_t>(row.size());
  return count;
}

TEST(NpbMatrixTest, TheUnionOfTheBlocksIsTheReferenceBitForBit) {
  for (const auto& problem : test::awkward_problems()) {
    const auto drawn = test::draw_reference_vectors(problem);
    const auto reference = test::build_reference_matrix(problem, drawn);
    SCOPED_TRACE("nonzer " + std::to_string(problem.nonzer));
    test::for_every_layout(problem.n, group().size(), [&](const test::NamedLayout& named) {
      const auto sourced = build(problem, named.layout);
      expect_block(sourced.block, named.layout, reference);
      EXPECT_EQ(group().sum(sourced.block.nonzero_count()), entry_count(reference));
      EXPECT_EQ(sourced.facts.final_seed, drawn.final_seed);
      EXPECT_EQ(sourced.facts.duplicate_pairs, drawn.duplicate_pairs);
      EXPECT_EQ(sourced.facts.out_of_range_pairs, drawn.out_of_range_pairs);
    });
  }
}

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
            layout, group(), 1, strips, [&](const kernels::CsrBlock& strip) {
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

TEST(NpbMatrixTest, ThreadsDoNotChangeTheBits) {
  const auto& problem = *find_class("S");
  const auto reference = test::build_reference_matrix(problem, test::draw_reference_vectors(problem));
  for (const auto& grid : comm::factorizations(group().size())) {
    const auto layout = comm::BlockLayout::even(problem.n, grid);
    SCOPED_TRACE("grid " + grid.name());
    expect_block(build(problem, layout, 2).block, layout, reference);
    expect_block(build(problem, layout, 3).block, layout, reference);
  }
}

TEST(NpbMatrixTest, ClassSMeetsTheFacts) { test::expect_facts_on_every_grid("S", group()); }
TEST(NpbMatrixTest, ClassAMeetsTheFacts) { test::expect_facts_on_every_grid("A", group()); }

}  // namespace
}  // namespace cg2d::npb_matrix_test
