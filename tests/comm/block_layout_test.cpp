// The cut of [0, n) over every grid up to 9 x 9.

#include "comm/block_layout.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "support/layouts.hpp"

namespace cg2d::comm::block_layout_test {
namespace {

/// Every grid, every awkward size, every way to cut.
template <typename Visit>
void for_every_layout(const Visit& visit) {
  test::for_every_grid([&](ProcessGrid grid) {
    for (const int64_t n : test::awkward_sizes(grid.rank_count())) {
      for (const auto& named : test::layouts_of(n, grid)) {
        SCOPED_TRACE(test::describe(named));
        visit(named.layout);
      }
    }
  });
}

TEST(ProcessGridTest, RanksStandAlongTheProcessRowsOrWhereAnOrderPutsThem) {
  const ProcessGrid grid{.columns = 3, .rows = 2};
  EXPECT_EQ(grid.name(), "3x2");
  EXPECT_EQ(grid.rank_count(), 6);
  const std::vector usual{0, 1, 2, 3, 4, 5};
  const std::vector other{4, 2, 0, 5, 1, 3};
  const auto placed = grid.in_order(other);
  for (const auto& [one, rank_at] : {std::pair(grid, usual), std::pair(placed, other)}) {
    for (int place = 0; place < 6; ++place) {
      const int rank = rank_at[static_cast<size_t>(place)];
      EXPECT_EQ(one.place_of(rank), place);
      EXPECT_EQ(one.rank_at(place / 3, place % 3), rank);
      EXPECT_EQ(one.row_of(rank), place / 3);
      EXPECT_EQ(one.column_of(rank), place % 3);
    }
  }
  EXPECT_EQ(placed, grid) << "of the same shape";
  EXPECT_EQ(grid.in_order(other).order, placed.order) << "one object";
  EXPECT_EQ(placed.in_order(usual).order, nullptr);
  for (const auto& wrong : {std::vector{0, 1, 2, 3, 4}, std::vector{0, 1, 2, 3, 4, 4},
                            std::vector{0, 1, 2, 3, 4, 6}, std::vector{0, 1, 2, 3, 4, -1}})
    EXPECT_THROW((void)grid.in_order(wrong), std::invalid_argument);
}

TEST(FactorizationsTest, AreAllOrderedFactorizationsByGrowingColumns) {
  EXPECT_EQ(factorizations(1), (std::vector<ProcessGrid>{{.columns = 1, .rows = 1}}));
  EXPECT_EQ(factorizations(7),
            (std::vector<ProcessGrid>{{.columns = 1, .rows = 7}, {.columns = 7, .rows = 1}}));
  EXPECT_EQ(factorizations(12).size(), 6U);
  size_t grid_count = 0;
  for (int rank_count = 1; rank_count <= 36; ++rank_count) {
    int columns_before = 0;
    for (const auto& grid : factorizations(rank_count)) {
      EXPECT_EQ(grid.rank_count(), rank_count);
      EXPECT_GT(grid.columns, columns_before);
      columns_before = grid.columns;
      ++grid_count;
    }
  }
  EXPECT_EQ(grid_count, 140U);  // the sum of the divisor counts of 1 ... 36
}

TEST(BlockLayoutTest, PiecesCoverTheRangeAndBlocksAreTheirUnions) {
  for_every_layout([](const BlockLayout& layout) {
    const auto grid = layout.grid();
    int64_t end = 0;
    for (int k = 0; k < grid.rank_count(); ++k) {
      EXPECT_EQ(layout.piece(k).begin, end);
      EXPECT_GE(layout.piece(k).size(), 0);
      end = layout.piece(k).end;
    }
    EXPECT_EQ(end, layout.size());
    for (int row = 0; row < grid.rows; ++row) {
      EXPECT_EQ(layout.row_block(row).begin, layout.piece(row * grid.columns).begin);
      EXPECT_EQ(layout.row_block(row).end, layout.piece(row * grid.columns + grid.columns - 1).end);
    }
    for (int column = 0; column < grid.columns; ++column) {
      EXPECT_EQ(layout.column_block(column).begin, layout.piece(column * grid.rows).begin);
      EXPECT_EQ(layout.column_block(column).end, layout.piece(column * grid.rows + grid.rows - 1).end);
    }
    int64_t wrong_count = 0;
    for (int64_t index = 0; index < layout.size(); ++index) {
      if (!layout.row_block(layout.row_block_of(index)).contains(index) ||
          !layout.column_block(layout.column_block_of(index)).contains(index))
        ++wrong_count;
    }
    EXPECT_EQ(wrong_count, 0);
  });
}

TEST(BlockLayoutTest, EvenPiecesDifferByOneAtMost) {
  test::for_every_grid([](ProcessGrid grid) {
    auto sizes = test::awkward_sizes(grid.rank_count());
    sizes.insert(std::numeric_limits<int64_t>::max());  // nothing may overflow
    for (const int64_t n : sizes) {
      const auto layout = BlockLayout::even(n, grid);
      EXPECT_EQ(layout.size(), n);
      for (int k = 0; k < grid.rank_count(); ++k) {
        EXPECT_GE(layout.piece(k).size(), n / grid.rank_count());
        EXPECT_LE(layout.piece(k).size() - 1, n / grid.rank_count());
      }
    }
  });
}

TEST(BlockLayoutTest, EveryRankOwnsARowPieceAndAColumnPieceAndTheShuffleMovesOneToTheOther) {
  test::for_every_grid([](ProcessGrid grid) {
    SCOPED_TRACE("grid " + grid.name());
    const auto layout = BlockLayout::even(1009, grid);
    std::set<int> row_pieces;
    std::set<int> column_pieces;
    std::set<int> destinations;
    for (int rank = 0; rank < grid.rank_count(); ++rank) {
      row_pieces.insert(layout.row_piece_of(rank));
      column_pieces.insert(layout.column_piece_of(rank));
      // Rank (i, j): piece i * Px + j of a product, piece j * Py + i of every other vector.
      EXPECT_EQ(layout.row_piece_of(rank), grid.row_of(rank) * grid.columns + grid.column_of(rank));
      EXPECT_EQ(layout.column_piece_of(rank), grid.column_of(rank) * grid.rows + grid.row_of(rank));
      EXPECT_EQ(layout.column_owner_of(layout.column_piece_of(rank)), rank);
      const int destination = layout.shuffle_destination(rank);
      destinations.insert(destination);
      EXPECT_EQ(layout.shuffle_source(destination), rank);
      EXPECT_EQ(layout.shuffle_destination(layout.shuffle_source(rank)), rank);
      EXPECT_EQ(layout.column_piece_of(destination), layout.row_piece_of(rank));
      const bool stays = grid.columns == 1 || grid.rows == 1 || rank == 0 || rank == grid.rank_count() - 1;
      EXPECT_TRUE(destination == rank || !stays);
    }
    for (const auto* found : {&row_pieces, &column_pieces, &destinations})
      EXPECT_EQ(found->size(), static_cast<size_t>(grid.rank_count()));
  });
}

TEST(BlockLayoutTest, WrongBordersGridsSizesAndPiecesAreRefused) {
  const ProcessGrid grid{.columns = 2, .rows = 1};
  EXPECT_NO_THROW(BlockLayout(grid, {0, 3, 5}));
  EXPECT_THROW(BlockLayout(grid, {1, 3, 5}), std::invalid_argument);     // does not start at 0
  EXPECT_THROW(BlockLayout(grid, {0, 6, 5}), std::invalid_argument);     // falls
  EXPECT_THROW(BlockLayout(grid, {0, 5}), std::invalid_argument);        // one too few
  EXPECT_THROW(BlockLayout(grid, {0, 3, 5, 5}), std::invalid_argument);  // one too many
  EXPECT_THROW(BlockLayout(grid, {}), std::invalid_argument);
  EXPECT_THROW(BlockLayout({.columns = -1, .rows = -1}, {0, 5}), std::invalid_argument);
  EXPECT_THROW(BlockLayout::even(5, {.columns = 0, .rows = 1}), std::invalid_argument);
  EXPECT_THROW(BlockLayout::even(5, {.columns = 1, .rows = -1}), std::invalid_argument);
  EXPECT_THROW(BlockLayout::even(-1, grid), std::invalid_argument);
  const auto layout = BlockLayout::even(10, {.columns = 2, .rows = 2});
  EXPECT_THROW(static_cast<void>(layout.piece(4)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(layout.piece(-1)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(layout.row_block(2)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(layout.column_block(2)), std::out_of_range);
}

}  // namespace
}  // namespace cg2d::comm::block_layout_test
