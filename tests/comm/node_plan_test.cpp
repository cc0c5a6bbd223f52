#include "comm/node_plan.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

#include "support/layouts.hpp"

namespace cg2d::comm::node_plan_test {
namespace {

TEST(NodeMapTest, NodesAreNumberedInTheOrderOfTheirFirstRanksAndEachRankCarriesItsShareOfTheOthers) {
  const NodeMap nodes({7, 3, 7, 9, 3});
  EXPECT_EQ(nodes.node_count(), 3);
  EXPECT_EQ(nodes.rank_count(), 5);
  EXPECT_EQ(nodes.ranks_of(0), (std::vector<int>{0, 2}));
  EXPECT_EQ(nodes.ranks_of(1), (std::vector<int>{1, 4}));
  EXPECT_EQ(nodes.ranks_of(2), (std::vector<int>{3}));
  EXPECT_EQ(nodes.node_of(4), 1);
  EXPECT_EQ(nodes.place_of(4), 1);
  EXPECT_EQ(nodes.place_of(3), 0);
  const NodeMap pairs({0, 0, 1, 1, 2, 2, 3, 3});
  EXPECT_EQ(pairs.carrier(0, 1), 1);
  EXPECT_EQ(pairs.carrier(0, 2), 0);
  EXPECT_EQ(pairs.carrier(0, 3), 1);
  EXPECT_EQ(pairs.carrier(3, 0), 6);
}

/// Ranks 0 ... P-1 on nodes of that size; 0: rank by rank on two nodes in turns.
NodeMap nodes_of(int rank_count, int size) {
  std::vector<int> node_of;
  for (int rank = 0; rank < rank_count; ++rank) node_of.push_back(size == 0 ? rank % 2 : rank / size);
  return NodeMap(node_of);
}

template <typename Visit>
void for_every_case(const Visit& visit) {
  for (const int rank_count : {1, 2, 3, 4, 6, 12}) {
    for (const auto& grid : factorizations(rank_count)) {
      for (const auto& named : test::layouts_of(101, grid)) {
        for (const int size : {0, 1, 2, 5, 12}) {
          SCOPED_TRACE(test::describe(named) + ", nodes of " + std::to_string(size));
          visit(named.layout, nodes_of(rank_count, size));
        }
      }
    }
  }
}

void mark(std::vector<int>& count, const IndexRange& range) {
  for (auto i = range.begin; i < range.end; ++i) ++count[static_cast<size_t>(i)];
}

TEST(NodePlanTest, ANodeGetsWhatItsProductsReadOnceAndNothingElse) {
  for_every_case([](const BlockLayout& layout, const NodeMap& nodes) {
    const auto grid = layout.grid();
    for (const bool mirrored : {false, true}) {
      for (int node = 0; node < nodes.node_count(); ++node) {
        std::vector<int> is_there(static_cast<size_t>(layout.size()), 0);
        std::vector<int> is_read = is_there;
        for (const int rank : nodes.ranks_of(node)) {
          const auto own = layout.piece(layout.column_piece_of(rank));
          mark(is_read, own);  // it may be no part of what is read here
          mark(is_there, own);
          mark(is_read, layout.column_block(grid.column_of(rank)));
          if (mirrored) mark(is_read, layout.row_block(grid.row_of(rank)));
        }
        for (int from = 0; from < nodes.node_count(); ++from) {
          if (from == node) continue;
          for (const auto& range : collected_ranges(layout, nodes, mirrored, from, node)) {
            EXPECT_GT(range.size(), 0);
            mark(is_there, range);
          }
        }
        for (size_t i = 0; i < is_read.size(); ++i)
          EXPECT_EQ(is_there[i], is_read[i] > 0 ? 1 : 0) << "element " << i;
      }
    }
  });
}

/// The pieces of a message follow each other.
TEST(NodePlanTest, EveryPieceIsSummedOverAllRanksOfItsGroup) {
  for_every_case([](const BlockLayout& layout, const NodeMap& nodes) {
    for (const auto over : {SummedOver::process_row, SummedOver::process_column}) {
      std::vector<std::set<int>> senders(static_cast<size_t>(nodes.rank_count()));
      for (int from = 0; from < nodes.node_count(); ++from) {
        for (int to = 0; to < nodes.node_count(); ++to) {
          if (from == to) continue;
          const auto sums = sums_between(layout, nodes, over, from, to);
          int64_t offset = 0;
          for (const auto& sum : sums.pieces) {
            EXPECT_EQ(nodes.node_of(sum.rank), to);
            EXPECT_EQ(sum.offset, offset);
            offset += layout.piece(layout.column_piece_of(sum.rank)).size();
            senders[static_cast<size_t>(sum.rank)].insert(from);
          }
          EXPECT_EQ(sums.element_count, offset);
        }
      }
      for (int rank = 0; rank < nodes.rank_count(); ++rank) {
        const int group = summing_group(layout, over, rank);
        const auto block = block_of_group(layout, over, group);
        const auto piece = layout.piece(layout.column_piece_of(rank));
        EXPECT_GE(piece.begin, block.begin);
        EXPECT_LE(piece.end, block.end);
        std::set<int> expected;
        for (const int other : ranks_of_group(layout, over, group)) {
          if (nodes.node_of(other) != nodes.node_of(rank)) expected.insert(nodes.node_of(other));
        }
        EXPECT_EQ(senders[static_cast<size_t>(rank)], piece.size() > 0 ? expected : std::set<int>{});
      }
    }
  });
}

}  // namespace
}  // namespace cg2d::comm::node_plan_test
