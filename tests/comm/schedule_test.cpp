// Butterflies for every group size up to 81, executed without MPI; the parts of collections on every grid up to 9 x 9; and what nodes send to
// each other.

#include "comm/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "comm/node_map.hpp"
#include "support/bits.hpp"
#include "support/layouts.hpp"

namespace cg2d::comm::schedule_test {
namespace {

using test::same_bits;

constexpr int largest_group = 81;

int ceil_log2(int value) { return static_cast<int>(std::bit_width(static_cast<unsigned>(value - 1))); }
int floor_log2(int value) { return static_cast<int>(std::bit_width(static_cast<unsigned>(value))) - 1; }
bool is_power_of_two(int value) { return std::has_single_bit(static_cast<unsigned>(value)); }

/// A member of a group on its way through its schedule. It has a piece of one element.
struct Member {
  int number;
  std::vector<ScheduleStep> steps;
  std::vector<double> block;
  std::vector<int> placed_count;  ///< how often each element was received in place
  std::vector<double> sent{};     ///< by the step that has begun
  size_t next_step = 0;
  bool has_begun = false;
  bool has_sent = false;
  bool has_received = false;

  const ScheduleStep& step() const { return steps[next_step]; }
  std::vector<size_t> elements(const PieceRun& run) const {
    std::vector<size_t> found;
    for (int k = 0; k < run.count; ++k) found.push_back(static_cast<size_t>(run.first + k) % block.size());
    return found;
  }
};

void begin_step(Member& member) {
  const auto& step = member.step();
  EXPECT_NE(step.send_to, member.number);
  EXPECT_NE(step.receive_from, member.number);
  member.has_begun = true;
  member.has_sent = step.send_to == ScheduleStep::no_partner;
  member.has_received = step.receive_from == ScheduleStep::no_partner;
  if (member.has_sent) return;
  const bool is_placed = !member.has_received && step.combine == Combine::place;
  const auto received = member.elements(is_placed ? step.received : PieceRun{});
  member.sent.clear();
  for (const auto k : member.elements(step.sent)) {
    EXPECT_EQ(std::ranges::count(received, k), 0) << "what is received overwrites what is sent";
    member.sent.push_back(member.block[k]);
  }
}

void receive(Member& member, Member& sender) {
  const auto& step = member.step();
  EXPECT_EQ(sender.step().sent, step.received)
      << "member " << member.number << " expects other pieces than it gets";
  auto next = sender.sent.begin();
  for (const auto k : member.elements(step.received)) {
    if (next == sender.sent.end()) break;
    if (step.combine == Combine::add) {
      member.block[k] += *next++;
    } else {
      member.block[k] = *next++;
      ++member.placed_count[k];
    }
  }
  member.has_received = true;
  sender.has_sent = true;
}

/// Executes the schedules of one group, make(size, member), each member as far as it gets, until none can continue, and expects that all end.
/// A message has left when its receiver has taken it: what ends so ends with any buffers of the system, and each step takes one message, so
/// nothing depends on which comes first. blocks[m]: of member m, an element for each member.
template <typename MakeSchedule>
std::vector<Member> executed(const MakeSchedule& make, const std::vector<std::vector<double>>& blocks) {
  std::vector<Member> members;
  for (const auto& block : blocks) {
    const int number = static_cast<int>(members.size());
    members.push_back({.number = number,
                       .steps = make(static_cast<int>(blocks.size()), number).steps,
                       .block = block,
                       .placed_count = std::vector<int>(blocks.size())});
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& member : members) {
      if (member.next_step == member.steps.size()) continue;
      moved |= !member.has_begun;
      if (!member.has_begun) begin_step(member);
      if (!member.has_received) {
        auto& sender = members.at(static_cast<size_t>(member.step().receive_from));
        if (sender.has_begun && !sender.has_sent && sender.step().send_to == member.number) {
          receive(member, sender);
          moved = true;
        }
      }
      if (!member.has_sent || !member.has_received) continue;
      member.has_begun = false;
      ++member.next_step;
      moved = true;
    }
  }
  for (const auto& member : members)
    EXPECT_EQ(member.next_step, member.steps.size()) << "member " << member.number << " waits for ever";
  return members;
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
    std::vector<double> everything(static_cast<size_t>(size));
    std::iota(everything.begin(), everything.end(), 100.0);
    std::vector<std::vector<double>> blocks(everything.size(), std::vector<double>(everything.size(), -1.0));
    for (size_t m = 0; m < blocks.size(); ++m) blocks[m][m] = everything[m];
    for (const auto& member : executed(all_gather_schedule, blocks)) {
      EXPECT_EQ(member.block, everything) << "member " << member.number;
      std::vector<int> received(everything.size(), 1);
      received[static_cast<size_t>(member.number)] = 0;
      EXPECT_EQ(member.placed_count, received) << "member " << member.number;
      EXPECT_EQ(static_cast<int>(member.steps.size()), ceil_log2(size));
    }
  });
}

TEST(ReductionTest, SumsEveryContributionExactlyOnce) {
  for_every_group([](int size) {
    const auto own = own_contributions(size);
    double sum = 0.0;  // exact
    for (const auto& block : own) sum += block.front();
    for (const auto& member : executed(all_reduce_schedule, own))
      EXPECT_EQ(member.block, std::vector<double>(own.size(), sum)) << "member " << member.number;
    for (const auto& member : executed(reduce_scatter_schedule, own))
      EXPECT_EQ(member.block[static_cast<size_t>(member.number)], sum) << "member " << member.number;
  });
}

TEST(ReductionTest, SumsHaveOneOrderOfAdditions) {
  for_every_group([](int size) {
    const auto blocks = awkward_blocks(size);
    std::vector<double> numbers;
    for (const auto& block : blocks) numbers.push_back(block.front());
    const auto members = executed(all_reduce_schedule, blocks);
    EXPECT_TRUE(same_bits(members.front().block.front(), sum_as_all_reduce(numbers)));
    for (const auto& member : members)
      EXPECT_TRUE(same_bits(member.block, members.front().block)) << "member " << member.number;
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

// ---------------------------------------------------------------- whole grids (and that transports move and send that: communicator_contract_test.cpp)

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

}  // namespace
}  // namespace cg2d::comm::schedule_test
