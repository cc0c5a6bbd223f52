// Butterflies for every group size up to 81, and for the groups of every grid up to 9 x 9, executed by a
// simulator; and what nodes send to each other.

#include "comm/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "comm/node_plan.hpp"
#include "support/bits.hpp"
#include "support/layouts.hpp"
#include "support/schedule_simulator.hpp"

namespace cg2d::comm::schedule_test {
namespace {

using test::Delivery;
using test::GroupSimulation;
using test::same_bits;

constexpr int largest_group = 81;
constexpr std::array both_deliveries{Delivery::eager, Delivery::rendezvous};

int ceil_log2(int value) { return static_cast<int>(std::bit_width(static_cast<unsigned>(value - 1))); }
int floor_log2(int value) { return static_cast<int>(std::bit_width(static_cast<unsigned>(value))) - 1; }
bool is_power_of_two(int value) { return std::has_single_bit(static_cast<unsigned>(value)); }

/// One element per member.
GroupPieces single_elements(int group_size) {
  return {BlockLayout::even(group_size, {.columns = 1, .rows = group_size}), 0, group_size};
}

template <typename MakeSchedule>
std::vector<Schedule> schedules_of(int group_size, const MakeSchedule& make) {
  std::vector<Schedule> schedules;
  for (int member = 0; member < group_size; ++member) schedules.push_back(make(group_size, member));
  return schedules;
}

/// Every member holds a partial sum of everything, which only it has contributed to: numbers of 40 random bits, so that no other sum of some of
/// them, or of one twice, is theirs.
std::vector<std::vector<double>> own_contributions(int group_size) {
  std::mt19937_64 random(20261129);
  std::vector<std::vector<double>> blocks;
  for (int member = 0; member < group_size; ++member)
    blocks.emplace_back(static_cast<size_t>(group_size), static_cast<double>(random() >> 24));
  return blocks;
}

/// Doubles whose sum depends on the order of the additions.
std::vector<std::vector<double>> awkward_blocks(int group_size) {
  std::vector<std::vector<double>> blocks;
  for (int member = 0; member < group_size; ++member) {
    auto& block = blocks.emplace_back();
    for (int k = 0; k < group_size; ++k) {
      const double sign = (member + k) % 3 == 0 ? -1.0 : 1.0;
      block.push_back(sign * std::ldexp(1.0 + 1.0 / (member + 3), (member * 37 + k * 11) % 80 - 40));
    }
  }
  return blocks;
}

/// visit(size): groups of every size. Failures tell which it was.
template <typename Visit>
void for_every_group(const Visit& visit) {
  for (int size = 1; size <= largest_group; ++size) {
    SCOPED_TRACE("group of " + std::to_string(size));
    visit(size);
  }
}

TEST(AllGatherTest, EndsWithAllPiecesOnAllMembersEachReceivedOnceInTheFewestSteps) {
  for_every_group([](int size) {
    for (const auto delivery : both_deliveries) {
      std::vector<double> everything(static_cast<size_t>(size));
      std::iota(everything.begin(), everything.end(), 100.0);
      std::vector<std::vector<double>> blocks(everything.size(),
                                              std::vector<double>(everything.size(), -1.0));
      for (size_t m = 0; m < blocks.size(); ++m) blocks[m][m] = everything[m];
      GroupSimulation group(single_elements(size), schedules_of(size, all_gather_schedule), blocks);
      group.run(delivery);
      for (int member = 0; member < size; ++member) {
        EXPECT_EQ(group.block(member), everything) << "member " << member;
        std::vector<int> received(static_cast<size_t>(size), 1);
        received[static_cast<size_t>(member)] = 0;
        EXPECT_EQ(group.placed_count(member), received) << "member " << member;
        const auto schedule = all_gather_schedule(size, member);
        EXPECT_EQ(schedule.group_size, size);
        EXPECT_EQ(static_cast<int>(schedule.steps.size()), ceil_log2(size));
      }
    }
  });
}

TEST(ReductionTest, SumsEveryContributionExactlyOnce) {
  for_every_group([](int size) {
    for (const auto delivery : both_deliveries) {
      const auto own = own_contributions(size);
      double sum = 0.0;  // exact
      for (const auto& block : own) sum += block.front();
      GroupSimulation all(single_elements(size), schedules_of(size, all_reduce_schedule), own);
      GroupSimulation scattered(single_elements(size), schedules_of(size, reduce_scatter_schedule), own);
      all.run(delivery);
      scattered.run(delivery);
      for (int member = 0; member < size; ++member) {
        EXPECT_EQ(all.block(member), std::vector<double>(own.size(), sum)) << "member " << member;
        EXPECT_EQ(scattered.block(member)[static_cast<size_t>(member)], sum) << "member " << member;
      }
    }
  });
}

/// Whatever arrives first: on all members of an all-reduce, and for each piece of a reduce-scatter.
TEST(ReductionTest, SumsHaveOneOrderOfAdditions) {
  for_every_group([](int size) {
    std::vector<double> whole;
    std::vector<std::vector<double>> pieces;
    for (const auto delivery : both_deliveries) {
      GroupSimulation all(single_elements(size), schedules_of(size, all_reduce_schedule),
                          awkward_blocks(size));
      GroupSimulation scattered(single_elements(size), schedules_of(size, reduce_scatter_schedule),
                                awkward_blocks(size));
      all.run(delivery);
      scattered.run(delivery);
      if (whole.empty()) whole = all.block(0);
      for (int member = 0; member < size; ++member) {
        EXPECT_TRUE(same_bits(all.block(member), whole)) << "member " << member;
        if (delivery == both_deliveries.front()) pieces.push_back(scattered.block(member));
        EXPECT_TRUE(same_bits(scattered.block(member), pieces[static_cast<size_t>(member)]))
            << "member " << member;
      }
    }
  });
}

/// A reduce-scatter sends every other piece once. An all-reduce takes two more steps than the butterfly where the size is no power of two.
TEST(ReductionTest, TakesTheFewestSteps) {
  for_every_group([](int size) {
    size_t most_steps = 0;
    for (int member = 0; member < size; ++member) {
      most_steps = std::max(most_steps, all_reduce_schedule(size, member).steps.size());
      const auto scattered = reduce_scatter_schedule(size, member);
      EXPECT_EQ(static_cast<int>(scattered.steps.size()), ceil_log2(size));
      int sent = 0;
      for (const auto& step : scattered.steps) {
        sent += step.sent.count;
        EXPECT_EQ(step.combine, Combine::add);
      }
      EXPECT_EQ(sent, size - 1);
    }
    const int expected = is_power_of_two(size) ? floor_log2(size) : floor_log2(size) + 2;
    EXPECT_EQ(static_cast<int>(most_steps), expected);
  });
}

TEST(GroupPiecesTest, RunsWrapAroundAndLeaveOutWhatIsEmpty) {
  const BlockLayout layout({.columns = 5, .rows = 1}, {0, 2, 2, 5, 6, 6});  // sizes 2 0 3 1 0
  const GroupPieces pieces(layout, 0, 5);
  using Ranges = std::vector<IndexRange>;
  EXPECT_EQ(pieces.group_size(), 5);
  EXPECT_EQ(pieces.size(), 6);
  EXPECT_EQ(pieces.piece(2), (IndexRange{.begin = 2, .end = 5}));
  EXPECT_EQ(pieces.ranges({.first = 0, .count = 5}), (Ranges{{.begin = 0, .end = 6}}));
  EXPECT_EQ(pieces.ranges({.first = 1, .count = 1}), Ranges{});
  EXPECT_EQ(pieces.ranges({.first = 3, .count = 3}),
            (Ranges{{.begin = 5, .end = 6}, {.begin = 0, .end = 2}}));
  EXPECT_EQ(pieces.ranges({.first = 4, .count = 2}), (Ranges{{.begin = 0, .end = 2}}));
  EXPECT_EQ(pieces.ranges({.first = 4, .count = 1}), Ranges{});
  EXPECT_EQ(pieces.element_count({.first = 3, .count = 3}), 3);
  EXPECT_EQ(pieces.element_count({.first = 2, .count = 0}), 0);
}

TEST(GroupPiecesTest, OffsetsCountFromTheGroupsOwnBlock) {
  const auto layout = BlockLayout::even(100, {.columns = 2, .rows = 5});
  const auto pieces =
      block_pieces(layout, Line::process_row, layout.grid().rank_at(3, 1));  // pieces 6 and 7: 60 ... 80
  EXPECT_EQ(pieces.size(), 20);
  EXPECT_EQ(pieces.piece(1), (IndexRange{.begin = 10, .end = 20}));
  const auto column =
      block_pieces(layout, Line::process_column, layout.grid().rank_at(3, 1));  // pieces 5 ... 9: 50 ... 100
  EXPECT_EQ(column.size(), 50);
  EXPECT_EQ(column.piece(3), (IndexRange{.begin = 30, .end = 40}));
}

// ---------------------------------------------------------------- whole grids

/// Runs one group of a grid: its members' schedules and blocks, by their rank.
template <typename ScheduleOf, typename BlockOf>
GroupSimulation simulated(const GroupPieces& pieces, const std::vector<int>& ranks, Delivery delivery,
                          const ScheduleOf& schedule_of, const BlockOf& block_of) {
  std::vector<Schedule> schedules;
  std::vector<std::vector<double>> blocks;
  for (const int rank : ranks) {
    schedules.push_back(schedule_of(rank));
    blocks.push_back(block_of(rank));
  }
  GroupSimulation group(pieces, schedules, blocks);
  group.run(delivery);
  return group;
}

/// value_of(index) of a range.
template <typename ValueOf>
std::vector<double> values_of(const IndexRange& range, const ValueOf& value_of) {
  std::vector<double> values;
  for (auto i = range.begin; i < range.end; ++i) values.push_back(static_cast<double>(value_of(i)));
  return values;
}

void expect_collection(const BlockLayout& layout, Delivery delivery) {
  const auto grid = layout.grid();
  for (int column = 0; column < grid.columns; ++column) {
    const auto block = layout.column_block(column);
    const auto ranks = grid.ranks_of(Line::process_column, column);
    const auto group = simulated(
        block_pieces(layout, Line::process_column, ranks.front()), ranks, delivery,
        [&](int rank) { return collection_schedule(layout, rank); },
        [&](int rank) {
          const auto mine = layout.piece(layout.column_piece_of(rank));
          return values_of(block, [&](int64_t i) { return mine.contains(i) ? i + 1 : -1; });
        });
    const auto expected = values_of(block, [](int64_t i) { return i + 1; });
    for (int row = 0; row < grid.rows; ++row) {
      const int rank = grid.rank_at(row, column);
      EXPECT_EQ(group.block(row), expected) << "rank " << rank;
      EXPECT_EQ(group.sent(row), collection_traffic(layout, rank)) << "rank " << rank;
    }
  }
}

/// Values are integers, so all sums are exact: each rank has its row piece of them, or all of the row block where the form says so.
void expect_summation(const BlockLayout& layout, SumForm form, Delivery delivery) {
  const auto grid = layout.grid();
  for (int row = 0; row < grid.rows; ++row) {
    const auto block = layout.row_block(row);
    const auto ranks = grid.ranks_of(Line::process_row, row);
    const auto group = simulated(
        block_pieces(layout, Line::process_row, ranks.front()), ranks, delivery,
        [&](int rank) { return summation_schedule(layout, rank, form); },
        [&](int rank) {
          return values_of(block, [&](int64_t i) { return (grid.column_of(rank) + 1) * (i + 5); });
        });
    for (int column = 0; column < grid.columns; ++column) {
      const int rank = grid.rank_at(row, column);
      const auto owned = form == SumForm::whole_block ? block : layout.piece(layout.row_piece_of(rank));
      const auto& sums = group.block(column);
      const std::vector<double> found(sums.begin() + (owned.begin - block.begin),
                                      sums.begin() + (owned.end - block.begin));
      const int64_t weight = grid.columns * (grid.columns + 1) / 2;
      EXPECT_EQ(found, values_of(owned, [&](int64_t i) { return weight * (i + 5); })) << "rank " << rank;
      EXPECT_EQ(group.sent(column), summation_traffic(layout, rank, form)) << "rank " << rank;
    }
  }
}

TEST(GridScheduleTest, CollectionAndSummationAreRightOnEveryGrid) {
  test::for_every_grid([](ProcessGrid grid) {
    for (const int64_t n : {0, 1, 7, grid.rank_count() - 1, grid.rank_count(), grid.rank_count() + 1, 101}) {
      for (const auto& named : test::layouts_of(n, grid)) {
        SCOPED_TRACE(test::describe(named));
        for (const auto delivery : both_deliveries) {
          expect_collection(named.layout, delivery);
          for (const auto form : {SumForm::whole_block, SumForm::reduce_scatter})
            expect_summation(named.layout, form, delivery);
        }
      }
    }
  });
}

TEST(TrafficTest, ShuffleSendsThePieceUnlessItStays) {
  test::for_every_grid([](ProcessGrid grid) {
    for (const auto& named : test::layouts_of(101, grid)) {
      SCOPED_TRACE(test::describe(named));
      Traffic all;
      int64_t moved = 0;
      for (int rank = 0; rank < grid.rank_count(); ++rank) {
        const auto traffic = shuffle_traffic(named.layout, rank);
        EXPECT_LE(traffic.message_count, 1);
        all += traffic;
        const bool stays = named.layout.row_piece_of(rank) == named.layout.column_piece_of(rank);
        if (!stays) moved += named.layout.piece(named.layout.row_piece_of(rank)).size();
      }
      EXPECT_EQ(all.byte_count, 8 * moved);
    }
  });
}

TEST(TrafficTest, DotIsWhatTheAllReduceOfTheValuesSends) {
  for (int size = 1; size <= largest_group; ++size) {
    for (const int value_count : {1, 3}) {
      // All values are one piece's, so that a run of all pieces is all values.
      const GroupPieces values(test::one_piece_layout(value_count, {.columns = size, .rows = 1}, 0), 0, size);
      const std::vector<std::vector<double>> blocks(
          static_cast<size_t>(size), std::vector<double>(static_cast<size_t>(value_count), 1.0));
      GroupSimulation group(values, schedules_of(size, all_reduce_schedule), blocks);
      group.run(Delivery::eager);
      for (int member = 0; member < size; ++member) {
        EXPECT_EQ(group.sent(member), dot_traffic(size, member, value_count)) << "group of " << size;
        EXPECT_EQ(group.block(member).front(), size);
      }
    }
  }
}

TEST(CollectionPartsTest, CoverTheColumnBlockOnceBeginningWithTheOwnPiece) {
  test::for_every_grid([](const ProcessGrid& grid) {
    for (const int64_t n : {0, 1, 7, grid.rank_count() + 1, 211}) {
      for (const auto& named : test::layouts_of(n, grid)) {
        SCOPED_TRACE(test::describe(named));
        for (int rank = 0; rank < grid.rank_count(); ++rank) {
          const auto block = named.layout.column_block(named.layout.grid().column_of(rank));
          const auto own = named.layout.piece(named.layout.column_piece_of(rank));
          const auto parts = collection_parts(named.layout, rank);
          EXPECT_EQ(parts.size(), collection_schedule(named.layout, rank).steps.size() + 1);
          std::vector<int> covered(static_cast<size_t>(block.size()));
          for (const auto& part : parts) {
            EXPECT_LE(part.size(), 2U);
            for (const auto& range : part) {
              for (auto k = range.begin; k < range.end; ++k) ++covered[static_cast<size_t>(k)];
            }
          }
          EXPECT_EQ(covered, std::vector<int>(covered.size(), 1));
          std::vector<IndexRange> first;
          if (own.size() > 0) {
            first.push_back({.begin = own.begin - block.begin, .end = own.end - block.begin});
          }
          EXPECT_EQ(parts.front(), first);
        }
      }
    }
  });
}

TEST(CollectionPartsTest, TellWhatAMemberOfThreeGetsInWhichOrder) {
  const auto layout = BlockLayout::even(9, {.columns = 1, .rows = 3});
  const std::vector<std::vector<IndexRange>> of_the_second{
      {{.begin = 3, .end = 6}}, {{.begin = 6, .end = 9}}, {{.begin = 0, .end = 3}}};
  EXPECT_EQ(collection_parts(layout, 1), of_the_second);
  const auto ragged = BlockLayout({.columns = 1, .rows = 5}, {0, 2, 2, 5, 6, 10});
  // In the second step a member of five gets the two pieces after the next one, here around the end.
  const std::vector<std::vector<IndexRange>> of_the_third{{{.begin = 2, .end = 5}},
                                                          {{.begin = 5, .end = 6}},
                                                          {{.begin = 6, .end = 10}, {.begin = 0, .end = 2}},
                                                          {}};
  EXPECT_EQ(collection_parts(ragged, 2), of_the_third);
}

/// Itakura et al. 1998, Table 1 (with N/Py for the summation, as its text and its measurements need).
TEST(TrafficTest, IsThePapersForPowersOfTwo) {
  for (const int columns : {1, 2, 4, 8, 16}) {
    for (const int rows : {1, 2, 4, 8, 16}) {
      const ProcessGrid grid{.columns = columns, .rows = rows};
      SCOPED_TRACE("grid " + grid.name());
      const int64_t n = 3 * 256;
      const auto layout = BlockLayout::even(n, grid);
      for (int rank = 0; rank < grid.rank_count(); ++rank) {
        const auto collection = collection_traffic(layout, rank);
        EXPECT_EQ(collection.message_count, floor_log2(rows));
        EXPECT_EQ(collection.byte_count, 8 * (n / grid.rank_count()) * (rows - 1));
        const auto summation = summation_traffic(layout, rank, SumForm::whole_block);
        EXPECT_EQ(summation.message_count, floor_log2(columns));
        EXPECT_EQ(summation.byte_count, 8 * (n / rows) * floor_log2(columns));
        const auto scattered = summation_traffic(layout, rank, SumForm::reduce_scatter);
        EXPECT_EQ(scattered.message_count, floor_log2(columns));
        EXPECT_EQ(scattered.byte_count, 8 * (n / grid.rank_count()) * (columns - 1));
        EXPECT_EQ(dot_traffic(grid.rank_count(), rank, 1).message_count, floor_log2(grid.rank_count()));
      }
    }
  }
}

// ---------------------------------------------------------------- nodes

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
    for (const auto over : {Line::process_row, Line::process_column}) {
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
        const auto block = layout.block_of(over, group);
        const auto piece = layout.piece(layout.column_piece_of(rank));
        EXPECT_GE(piece.begin, block.begin);
        EXPECT_LE(piece.end, block.end);
        std::set<int> expected;
        for (const int other : layout.grid().ranks_of(over, group)) {
          if (nodes.node_of(other) != nodes.node_of(rank)) expected.insert(nodes.node_of(other));
        }
        EXPECT_EQ(senders[static_cast<size_t>(rank)], piece.size() > 0 ? expected : std::set<int>{});
      }
    }
  });
}

}  // namespace
}  // namespace cg2d::comm::schedule_test
