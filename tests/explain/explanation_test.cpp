// The explanation of a CG step is true: its messages make what the step must make, in the fewest rounds; and it sends as much as the plan
// says. That the schedules which it shows add and move the right numbers: tests/comm/schedule_test.cpp.

#include "cg/explain/explanation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/library/built_in_choice.hpp"
#include "cg/matrix/problem.hpp"

namespace cg2d::explanation_test {
namespace {

using comm::BlockLayout;
using comm::ProcessGrid;
using comm::SumForm;

constexpr int most_ranks = 12;

std::set<int> filled(const BlockLayout& layout, int begin, int end) {
  std::set<int> pieces;
  for (int piece = begin; piece < end; ++piece) {
    if (layout.piece(piece).size() > 0) pieces.insert(piece);
  }
  return pieces;
}

/// The pieces that a rank needs at the end of a step, by the layout alone.
std::set<int> needed(std::string_view step, const BlockLayout& layout, int rank) {
  const auto grid = layout.grid();
  const int row = grid.row_of(rank);
  const int column = grid.column_of(rank);
  const int row_piece = row * grid.columns + column;
  const int column_piece = column * grid.rows + row;
  if (step == "collection") return filled(layout, column * grid.rows, (column + 1) * grid.rows);
  if (step == "mirrored-collection") return filled(layout, row * grid.columns, (row + 1) * grid.columns);
  if (step == "multiply") return filled(layout, row * grid.columns, (row + 1) * grid.columns);
  if (step == "summation" || step == "mirrored-shuffle") return filled(layout, row_piece, row_piece + 1);
  if (step == "mirrored-summation" || step == "shuffle")
    return filled(layout, column_piece, column_piece + 1);
  return {0};
}

std::set<int> numbers_of(const RankPieces& held) {
  std::set<int> numbers;
  for (const auto& piece : held) numbers.insert(piece.number);
  return numbers;
}

/// The pieces of the description: those needed are there, whole, and but for whole-block sums no others.
void expect_needed_pieces(const ExplainedStep& step, const Explanation& explained) {
  const bool may_hold_more = explained.configuration.sum_form == SumForm::whole_block;
  for (int rank = 0; rank < static_cast<int>(step.held_after.size()); ++rank) {
    const auto& held = step.held_after[index_of(rank)];
    const auto wanted = needed(step.name, explained.layout, rank);
    const auto found = numbers_of(held);
    if (may_hold_more) {
      EXPECT_TRUE(std::ranges::includes(found, wanted)) << "rank " << rank;
    } else {
      EXPECT_EQ(found, wanted) << "rank " << rank;
    }
    for (const auto& piece : held) {
      EXPECT_EQ(piece.summed_ranks, step.name == "multiply" ? 1 : piece.rank_count)
          << "rank " << rank << ", piece " << piece.number;
    }
  }
}

/// In a round each rank sends and receives once at most: that is why it is one round.
void expect_one_message_each(const ExchangeRound& round) {
  std::set<int> senders;
  std::set<int> receivers;
  for (const auto& message : round.messages) {
    EXPECT_TRUE(senders.insert(message.sender).second);
    EXPECT_TRUE(receivers.insert(message.receiver).second);
    EXPECT_NE(message.sender, message.receiver);
    EXPECT_GT(message.byte_count, 0);
  }
}

comm::Traffic sent_in(const Explanation& explained, std::string_view name, int rank) {
  for (const auto& step : explained.steps) {
    if (step.name == name) return step.sent_by_rank()[index_of(rank)];
  }
  return {};
}

void expect_traffic_of_plan(const Explanation& explained) {
  comm::Traffic all_ranks;
  for (int rank = 0; rank < explained.layout.grid().rank_count(); ++rank) {
    const auto plan =
        plan_traffic(explained.layout, rank, explained.configuration.sum_form, explained.is_mirrored);
    const auto both = [&](std::string_view name) {
      return sent_in(explained, name, rank) + sent_in(explained, "mirrored-" + std::string(name), rank);
    };
    EXPECT_EQ(both("collection"), plan.collection) << "rank " << rank;
    EXPECT_EQ(both("summation"), plan.summation) << "rank " << rank;
    EXPECT_EQ(both("shuffle"), plan.shuffle) << "rank " << rank;
    EXPECT_EQ(sent_in(explained, "dot", rank), plan.dot) << "rank " << rank;
    all_ranks += plan.total();
  }
  EXPECT_EQ(traffic_of(explained.steps).all_ranks, all_ranks);
}

Explanation explained(int64_t order, ProcessGrid grid, SumForm form, const char* kernel = "scalar") {
  auto problem = *find_class("S");
  problem.n = order;
  Configuration configuration;
  configuration.grid = grid;
  configuration.sum_form = form;
  configuration.kernel = kernel;
  return explain_step(problem, configuration, "all");
}

/// Calls check for every grid, both forms of the sum, with and without half storage, with empty pieces, too.
template <typename Check>
void for_all_explanations(const Check& check) {
  for (int rank_count = 1; rank_count <= most_ranks; ++rank_count) {
    for (const auto& grid : comm::factorizations(rank_count)) {
      for (const auto form : {SumForm::reduce_scatter, SumForm::whole_block}) {
        for (const int64_t order : {1, 7, 1400}) {
          for (const auto* const kernel : {"scalar", "symmetric"}) {
            SCOPED_TRACE(grid.name() + ", n " + std::to_string(order) + ", " + kernel);
            check(explained(order, grid, form, kernel));
          }
        }
      }
    }
  }
}

TEST(Explanation, RanksEndWithWhatTheStepMustMake) {
  for_all_explanations([](const Explanation& explained) {
    for (const auto& step : explained.steps) {
      SCOPED_TRACE(step.name);
      expect_needed_pieces(step, explained);
      std::ranges::for_each(step.rounds, expect_one_message_each);
    }
  });
}

TEST(Explanation, SendsAsMuchAsThePlanSays) { for_all_explanations(expect_traffic_of_plan); }

/// The drawing in comm/README.md: with 3 members the last step of the collection sends one piece.
TEST(Explanation, ThreeMembersAsInTheManual) {
  const auto grid_1x3 = explained(1400, {.columns = 1, .rows = 3}, SumForm::reduce_scatter);
  const auto& rounds = grid_1x3.steps.front().rounds;
  ASSERT_EQ(rounds.size(), 2U);
  EXPECT_EQ(held_text(rounds[0].held_after[2]), "p0 p2");
  const auto& last = rounds[1].messages;
  ASSERT_EQ(last.size(), 3U);
  EXPECT_EQ(last[2].receiver, 0);
  EXPECT_EQ(pieces_text(last[2].vector, last[2].pieces), "p2");
}

/// The fold of an all-reduce of 6: 4 and 5 give their sums away first, and get the result last. The others wait.
TEST(Explanation, SumsOfSixRanksFold) {
  const auto grid_6x1 = explained(1400, {.columns = 6, .rows = 1}, SumForm::whole_block);
  const auto& dot = grid_6x1.steps.back();
  ASSERT_EQ(dot.rounds.size(), 4U);
  EXPECT_EQ(held_text(dot.rounds[0].held_after[4]), "-");
  EXPECT_EQ(held_text(dot.rounds[0].held_after[0]), "p.q (2 of 6)");
  EXPECT_EQ(held_text(dot.held_after[4]), "p.q");
  EXPECT_EQ(dot.rounds[3].messages.size(), 2U);
}

TEST(PiecesText, RunsAndWraps) {
  EXPECT_EQ(pieces_text("p", std::vector{0, 1, 2, 5}), "p0-2 p5");
  EXPECT_EQ(pieces_text("q", std::vector{2, 0}), "q2 q0");
  EXPECT_EQ(pieces_text("p", std::vector{3, 4}), "p3-4");
  EXPECT_EQ(pieces_text("p", std::vector<int>{}), "");
}

}  // namespace
}  // namespace cg2d::explanation_test
