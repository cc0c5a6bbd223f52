// Matrices of the library's own sources of which nothing is stored: the facts and blocks of those that are.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
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

constexpr int64_t much_memory = int64_t{1} << 30;
const std::vector<std::string> texts{"laplace2d:7x9", "laplace3d:4x5x6:27", "npb:S"};

TEST(SourceMatrixTest, HasTheFactsAndCutsOfTheStoredOne) {
  for (const auto& text : texts) {
    SCOPED_TRACE(text);
    const auto stored = generate_matrix({.path = text}, group());
    const auto made = open_source(text, much_memory, group());
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
    const auto stored = generate_matrix({.path = text}, group());
    const auto made = open_source(text, much_memory, group());
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
    hashes.push_back(open_source(text, much_memory, group())->content_hash().value());
  EXPECT_EQ(hashes.front(), open_source("laplace2d:7x9", much_memory, group())->content_hash());
  std::ranges::sort(hashes);
  EXPECT_TRUE(std::ranges::adjacent_find(hashes) == hashes.end());
}

TEST(SourceMatrixTest, TooLittleMemoryIsNamedOnAllRanks) {
  const auto error =
      test::error_of(ExitCode::memory, [] { static_cast<void>(open_source("npb:S", 1000, group())); });
  EXPECT_NE(error.find("to count the rows of npb:S"), std::string::npos) << error;
}

}  // namespace
}  // namespace cg2d::source_matrix_test
