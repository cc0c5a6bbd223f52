// Matrices of the library's own sources of which nothing is stored: the facts and blocks of the same entries, stored.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cg/matrix/files/matrix_file.hpp"
#include "support/block_entries.hpp"
#include "support/error_of.hpp"
#include "support/layouts.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::source_matrix_test {
namespace {

using test::group;

/// Every rank adds the entries of an equal share of the rows.
std::unique_ptr<SystemMatrix> stored_matrix(const std::string& text) {
  const auto source = source_from(text);
  const auto order = source->facts().key.order;
  const auto layout = comm::BlockLayout::even(order, {.columns = 1, .rows = group().size()});
  const auto first_row = layout.row_block(group().rank()).begin;
  const auto block = source->build(layout, group(), 1).block;
  const double sign = source_row_of(text).is_negative_definite ? -1.0 : 1.0;
  EntryCollector collector(order, group());
  for (int64_t row = 0; row < block.row_count; ++row) {
    for (size_t k = 0; k < block.columns_of(row).size(); ++k)
      collector.add(first_row + row, block.columns_of(row)[k], sign * block.values_of(row)[k]);
  }
  return std::make_unique<StoredMatrix>(collector.finish(), text, std::nullopt, group());
}

constexpr int64_t much_memory = int64_t{1} << 30;
const std::vector<std::string> texts{"laplace2d:7x9", "laplace3d:4x5x6:27", "npb:S"};

TEST(SourceMatrixTest, HasTheFactsAndCutsOfTheStoredOne) {
  for (const auto& text : texts) {
    SCOPED_TRACE(text);
    const auto stored = stored_matrix(text);
    const auto made = open_source({.path = text}, much_memory, group());
    EXPECT_EQ(made->order(), stored->order());
    EXPECT_EQ(made->nonzero_count(), stored->nonzero_count());
    EXPECT_EQ(made->facts().key.name, stored->facts().key.name);
    EXPECT_TRUE(made->facts().key == stored->facts().key);
    EXPECT_EQ(made->facts().row_lengths(2).share, stored->facts().row_lengths(2).share);
    for (const auto& shares : {comm::equal_shares(1), comm::equal_shares(5), {3.0, 0.5, 1.0, 7.0}})
      EXPECT_EQ(made->balanced_piece_starts(shares, group()), stored->balanced_piece_starts(shares, group()));
    EXPECT_NO_THROW(made->require_positive_diagonal(group()));
  }
}

TEST(SourceMatrixTest, HasTheBlocksOfTheStoredOneInAnyStrips) {
  for (const auto& text : texts) {
    const auto stored = stored_matrix(text);
    const auto made = open_source({.path = text}, much_memory, group());
    SCOPED_TRACE(text);
    test::for_every_layout(made->order(), group().size(), [&](const test::NamedLayout& named) {
      const auto expected = test::entries_of(stored->build(named.layout, group(), 1).block);
      EXPECT_TRUE(test::entries_of(made->build(named.layout, group(), 1).block) == expected);
      test::BlockEntries found;
      made->build_strips(named.layout, group(), 1, {.count = 5, .row_multiple = 4},
                         [&](const kernels::CsrBlock& strip) { found.append(strip); });
      EXPECT_TRUE(found == expected);
      EXPECT_EQ(made->diagonal(named.layout, group()), stored->diagonal(named.layout, group()));
      EXPECT_EQ(made->nonzeros_of_blocks(named.layout, group()),
                stored->nonzeros_of_blocks(named.layout, group()));
    });
  }
}

TEST(SourceMatrixTest, AnotherMatrixHasAnotherHash) {
  std::vector<uint64_t> hashes;
  for (const std::string text : {"laplace2d:7x9", "laplace2d:9x7", "laplace3d:7x9x2", "npb:S"})
    hashes.push_back(open_source({.path = text}, much_memory, group())->content_hash().value());
  EXPECT_EQ(hashes.front(), open_source({.path = "laplace2d:7x9"}, much_memory, group())->content_hash());
  std::ranges::sort(hashes);
  EXPECT_TRUE(std::ranges::adjacent_find(hashes) == hashes.end());
}

TEST(SourceMatrixTest, TheMemoryForCountingIsAskedForBefore) {
  int64_t making_bytes = 0;
  const MemoryCheck check = [&](const ExpectedMatrix& expected) {
    making_bytes = expected.making_bytes;
    throw RunError(ExitCode::memory, "too much");
  };
  const auto open = [&] { open_source({.path = "npb:S", .check_memory = check}, 1000, group()); };
  EXPECT_EQ(test::error_of(ExitCode::memory, open), "too much");
  EXPECT_GT(making_bytes, 1000);
}

TEST(SourceMatrixTest, ARandomOrderMovesTheEntries) {
  const auto made = open_source({.path = "laplace2d:7x9", .permutation_seed = 5}, std::nullopt, group());
  const auto whole = stored_matrix("laplace2d:7x9");
  EXPECT_EQ(made->nonzero_count(), whole->nonzero_count());
  EXPECT_EQ(made->facts().row_lengths(1).share, whole->facts().row_lengths(1).share);
  EXPECT_TRUE(made->permutation());
  EXPECT_NO_THROW(made->require_symmetric(group()));
}

}  // namespace
}  // namespace cg2d::source_matrix_test
