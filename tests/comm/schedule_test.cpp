// Butterflies for every group size up to 81, executed by a simulator; the parts of collections on every grid up to 9 x 9; and what nodes send to
// each other.

#include "comm/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <utility>
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

/// When a message counts as sent: at once (the system keeps it), or only when its receiver has taken it.
enum class Delivery { eager, rendezvous };
constexpr std::array both_deliveries{Delivery::eager, Delivery::rendezvous};

/// Executes the schedules of one group, whose members have a piece of one element each, and checks that they fit together.
class GroupSimulation {
 public:
  /// make(size, member): its schedule. blocks[m]: of member m, an element for each member.
  template <typename MakeSchedule>
  GroupSimulation(const MakeSchedule& make, std::vector<std::vector<double>> blocks) {
    const int size = static_cast<int>(blocks.size());
    for (int member = 0; member < size; ++member) {
      members_.push_back({.steps = make(size, member).steps,
                          .block = std::move(blocks[static_cast<size_t>(member)]),
                          .placed_count = std::vector<int>(blocks.size())});
    }
  }

  /// Runs all members, each as far as it gets, until none can continue. Expects that all end and no message
  /// is left.
  void run(Delivery delivery) {
    delivery_ = delivery;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t m = 0; m < members_.size(); ++m) moved |= advance(static_cast<int>(m));
    }
    for (size_t m = 0; m < members_.size(); ++m) {
      EXPECT_EQ(members_[m].next_step, members_[m].steps.size()) << "member " << m << " waits for ever";
    }
    for (const auto& [way, messages] : under_way_) {
      EXPECT_TRUE(messages.empty()) << "nobody takes a message from " << way.first << " to " << way.second;
    }
  }

  const std::vector<double>& block(int member) const { return members_[static_cast<size_t>(member)].block; }
  /// How often each element was received in place.
  const std::vector<int>& placed_count(int member) const {
    return members_[static_cast<size_t>(member)].placed_count;
  }

 private:
  struct Message {
    PieceRun run;
    std::vector<double> values;
  };
  struct Member {
    std::vector<ScheduleStep> steps;
    std::vector<double> block;
    std::vector<int> placed_count;
    size_t next_step = 0;
    bool in_step = false;
    bool send_done = false;
    bool receive_done = false;
  };

  std::vector<size_t> elements(const PieceRun& run) const {
    std::vector<size_t> found;
    for (int k = 0; k < run.count; ++k) found.push_back(static_cast<size_t>(run.first + k) % members_.size());
    return found;
  }

  bool advance(int number) {
    auto& member = members_[static_cast<size_t>(number)];
    if (member.next_step == member.steps.size()) return false;
    const auto& step = member.steps[member.next_step];
    bool moved = false;
    if (!member.in_step) {
      begin_step(number, member, step);
      moved = true;
    }
    if (!member.receive_done) moved |= try_receive(number, member, step);
    if (member.send_done && member.receive_done) {
      member.in_step = false;
      ++member.next_step;
      moved = true;
    }
    return moved;
  }

  void begin_step(int number, Member& member, const ScheduleStep& step) {
    const bool sends = step.send_to != ScheduleStep::no_partner;
    const bool receives = step.receive_from != ScheduleStep::no_partner;
    EXPECT_NE(step.send_to, number);
    EXPECT_NE(step.receive_from, number);
    member.in_step = true;
    member.send_done = !sends || delivery_ == Delivery::eager;
    member.receive_done = !receives;
    if (!sends) return;
    Message message{.run = step.sent, .values = {}};
    const auto received = elements(receives && step.combine == Combine::place ? step.received : PieceRun{});
    for (const auto k : elements(step.sent)) {
      EXPECT_EQ(std::ranges::count(received, k), 0) << "what is received overwrites what is sent";
      message.values.push_back(member.block[k]);
    }
    under_way_[{number, step.send_to}].push_back(std::move(message));
  }

  bool try_receive(int number, Member& member, const ScheduleStep& step) {
    auto& messages = under_way_[{step.receive_from, number}];
    if (messages.empty()) return false;
    const Message message = std::move(messages.front());  // between two ranks messages do not overtake
    messages.pop_front();
    EXPECT_EQ(message.run, step.received) << "member " << number << " expects other pieces than it gets";
    auto next = message.values.begin();
    for (const auto k : elements(step.received)) {
      if (next == message.values.end()) break;
      if (step.combine == Combine::add) {
        member.block[k] += *next++;
      } else {
        member.block[k] = *next++;
        ++member.placed_count[k];
      }
    }
    member.receive_done = true;
    members_[static_cast<size_t>(step.receive_from)].send_done = true;
    return true;
  }

  std::vector<Member> members_;
  std::map<std::pair<int, int>, std::deque<Message>> under_way_;
  Delivery delivery_ = Delivery::eager;
};

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
      GroupSimulation group(all_gather_schedule, blocks);
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
      GroupSimulation all(all_reduce_schedule, own);
      GroupSimulation scattered(reduce_scatter_schedule, own);
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
      GroupSimulation all(all_reduce_schedule, awkward_blocks(size));
      GroupSimulation scattered(reduce_scatter_schedule, awkward_blocks(size));
      all.run(delivery);
      scattered.run(delivery);
      if (whole.empty()) whole = all.block(0);
      std::vector<double> numbers;
      for (const auto& block : awkward_blocks(size)) numbers.push_back(block.front());
      EXPECT_TRUE(same_bits(sum_as_all_reduce(numbers), whole.front()));
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

}  // namespace
}  // namespace cg2d::comm::schedule_test
