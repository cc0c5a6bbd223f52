// Symmetric storage keeps one entry of each mirrored pair, and about as many in every block; strips of columns.

#include "cg/matrix/half_storage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/layouts.hpp"
#include "support/npb_reference.hpp"
#include "support/random_blocks.hpp"

namespace cg2d::half_storage_test {
namespace {

HalfStorageRule rule_of(int64_t n, const comm::ProcessGrid& grid) {
  return HalfStorageRule(comm::BlockLayout::even(n, grid));
}

/// Whether the entry of a global row and column is kept.
bool keeps(const HalfStorageRule& rule, int64_t row, int64_t column) {
  return HalfStorageRule::keeps(rule.position_of(row), rule.position_of(column));
}

TEST(HalfStorageRuleTest, KeepsOneOfEachPairAndTheDiagonal) {
  for (const int64_t n : {1, 2, 7, 64, 150}) {
    for (const comm::ProcessGrid grid :
         {comm::ProcessGrid{.columns = 1, .rows = 1}, {.columns = 3, .rows = 2}}) {
      const auto rule = rule_of(n, grid);
      for (int64_t row = 0; row < n; ++row) {
        EXPECT_TRUE(keeps(rule, row, row));
        for (int64_t column = 0; column < row; ++column) {
          EXPECT_NE(keeps(rule, row, column), keeps(rule, column, row))
              << row << ", " << column << " of " << n;
        }
      }
    }
  }
}

/// Takes every `sampled`-th row and column.
void expect_halved(int64_t n, const comm::ProcessGrid& grid, int64_t sampled) {
  const auto layout = comm::BlockLayout::even(n, grid);
  const HalfStorageRule rule(layout);
  for (int rank = 0; rank < grid.rank_count(); ++rank) {
    int64_t kept = 0;
    int64_t count = 0;
    const auto rows = layout.row_block(grid.row_of(rank));
    const auto columns = layout.column_block(grid.column_of(rank));
    for (auto row = rows.begin; row < rows.end; row += sampled) {
      for (auto column = columns.begin; column < columns.end; column += sampled, ++count)
        kept += keeps(rule, row, column) ? 1 : 0;
    }
    EXPECT_NEAR(2.0 * static_cast<double>(kept) / static_cast<double>(count), 1.0, 0.05)
        << "grid " << grid.name() << ", rank " << rank;
  }
}

/// Those of the classes have tiles as wide as the kernels' column blocks, of which few fit into a block of the grid.
TEST(HalfStorageRuleTest, HalvesEveryBlockEvenly) {
  test::for_every_grid([](const comm::ProcessGrid& grid) { expect_halved(1400, grid, 1); });
  for (const comm::ProcessGrid grid : {comm::ProcessGrid{.columns = 1, .rows = 18},
                                       {.columns = 18, .rows = 1},
                                       {.columns = 4, .rows = 4},
                                       {.columns = 6, .rows = 3}})
    expect_halved(75'000, grid, 32);
}

TEST(HalfStorageRuleTest, TilesAreAsLargeAsEvenBlocksAllow) {
  EXPECT_EQ(rule_of(150'000, {.columns = 1, .rows = 1}).tile_size(), 8192);
  EXPECT_EQ(rule_of(75'000, {.columns = 2, .rows = 1}).tile_size(), 4096);
  EXPECT_EQ(rule_of(1400, {.columns = 36, .rows = 1}).tile_size(), 4);
  EXPECT_EQ(rule_of(1, {.columns = 36, .rows = 1}).tile_size(), 1);
  // No narrower than a kernel's column blocks, where two fit into the blocks of the grid.
  EXPECT_EQ(rule_of(75'000, {.columns = 4, .rows = 4}).tile_size(), 2048);
  EXPECT_EQ(rule_of(75'000, {.columns = 1, .rows = 36}).tile_size(), 256);
}

/// Kernels cut the rank's columns into column blocks, from the first one on: a tile that began elsewhere would
/// cut their rows short.
TEST(HalfStorageRuleTest, TilesBeginWithEveryColumnBlock) {
  const auto n = int64_t{75'000};
  for (const comm::ProcessGrid grid :
       {comm::ProcessGrid{.columns = 4, .rows = 1}, {.columns = 3, .rows = 2}}) {
    const auto layout = comm::BlockLayout::even(n, grid);
    const HalfStorageRule rule(layout);
    int64_t tile_before = -1;
    for (int process_column = 0; process_column < grid.columns; ++process_column) {
      const auto block = layout.column_block(process_column);
      for (auto begin = block.begin; begin < block.end; begin += rule.tile_size()) {
        const auto last = std::min(begin + rule.tile_size(), block.end) - 1;
        EXPECT_GT(rule.position_of(begin).tile, tile_before) << grid.name() << ", column " << begin;
        EXPECT_EQ(rule.position_of(last).tile, rule.position_of(begin).tile) << grid.name();
        tile_before = rule.position_of(begin).tile;
      }
    }
  }
}

// ---------------------------------------------------------------- strips of columns: together they are the block again

TEST(ColumnStripsTest, TheLastStripTakesTheArraysThemselves) {
  auto block = test::BlockMaker(7).make().csr();
  const auto* const values = block.values.data();
  EXPECT_EQ(take_columns(block, {.begin = 0, .end = block.column_count}).values.data(), values);
  EXPECT_EQ(block.nonzero_count(), 0);
}

TEST(ColumnStripsTest, InAnyOrderAllStripsTogetherAreTheBlock) {
  for (int number = 0; number < 40; ++number) {
    const auto made = test::BlockMaker(number).make();
    test::ReferenceMatrix all;
    for (const auto& row : made.rows) {
      auto& entries = all.emplace_back();
      for (const auto& [column, value] : row) entries[column] = value;
    }
    auto block = made.csr();
    const auto n = block.column_count;
    const std::vector<comm::IndexRange> strips{{.begin = n / 3, .end = n / 2},
                                               {.begin = n / 2, .end = n},
                                               {.begin = 0, .end = n / 7},
                                               {.begin = n / 7, .end = n / 3}};
    for (const auto& columns : strips)
      test::expect_block(take_columns(block, columns), all, {.begin = 0, .end = std::ssize(all)}, columns);
    EXPECT_EQ(block.nonzero_count(), 0);
  }
}

}  // namespace
}  // namespace cg2d::half_storage_test
