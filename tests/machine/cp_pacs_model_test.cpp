// The paper from its own basic costs: communication by its formulas, the best Px, and whole times. The
// product over the real rows of class B is in cp_pacs_multiply_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "cg/machine/cp_pacs_times.hpp"
#include "cg/machine/performance_model.hpp"

namespace cg2d::cp_pacs_model_test {
namespace {

const cp_pacs::ByColumns& clocks_in(const auto& table, std::string_view part) {
  return std::ranges::find(table, part, &cp_pacs::ClockRow::name)->clocks;
}

constexpr int paper_ranks = 256;
constexpr double start_up_clocks = 5500.0;
constexpr double clocks_per_element = 8.0 / 2.0;  // bytes of an element, at 2 bytes per clock
constexpr double addition_clocks = 7.0;

MachineDescription basic_costs() { return find_machine("cp-pacs").conditions.front(); }

comm::ProcessGrid grid_of(int rank_count, int columns) {
  return {.columns = columns, .rows = rank_count / columns};
}

class CpPacsModelTest : public ::testing::Test {
 protected:
  /// Clocks of one call of each communication on 256 PUs.
  PhaseSeconds clocks_of(int columns) {
    const auto layout = comm::BlockLayout::even(problem_.n, grid_of(paper_ranks, columns));
    auto costs = communication_costs(machine_, layout, {.sum_form = comm::SumForm::whole_block});
    for (double& cost : costs) cost *= machine_.clock_hz;
    return costs;
  }
  double seconds_of(const std::string& kernel, int rank_count, int columns) {
    const Configuration configuration{
        .grid = grid_of(rank_count, columns), .kernel = kernel, .sum_form = machine_.sum_form};
    return predict(machine_, facts_of(problem_), configuration, problem_.niter).total_s();
  }

  MachineDescription machine_ = basic_costs();
  Problem problem_ = *find_class("B");
};

/// transfers * 5500 + bytes / 2 (+ 7 clocks for each element added). 75000 / 256 is no whole number, so the
/// busiest rank may move one element more in each transfer.
TEST_F(CpPacsModelTest, CommunicationMeetsThePapersFormulas) {
  const auto n = static_cast<double>(problem_.n);
  const double piece = n / paper_ranks;
  for (const int columns : cp_pacs::columns) {
    SCOPED_TRACE(columns);
    const int rows = paper_ranks / columns;
    const double collect_steps = std::log2(rows);
    const double sum_steps = std::log2(columns);
    const auto clocks = clocks_of(columns);
    EXPECT_NEAR(clocks[index_of(Phase::collection)],
                collect_steps * start_up_clocks + piece * (rows - 1) * clocks_per_element,
                collect_steps * clocks_per_element);
    EXPECT_NEAR(clocks[index_of(Phase::summation)],
                sum_steps * (start_up_clocks + n / rows * (clocks_per_element + addition_clocks)),
                sum_steps * (clocks_per_element + addition_clocks));
    // On one process column every rank keeps its piece, and the paper's program takes its time all the same.
    EXPECT_NEAR(clocks[index_of(Phase::shuffle)], start_up_clocks + piece * clocks_per_element,
                clocks_per_element);
    EXPECT_NEAR(clocks[index_of(Phase::dot)], 8 * (start_up_clocks + clocks_per_element + addition_clocks),
                1e-6);
  }
}

/// With four ranks on a link as fast as their own, a byte takes four times as long; nothing else changes, also not where all are on one node.
TEST_F(CpPacsModelTest, RanksOfANodeShareItsLink) {
  machine_.network.start_up_s = 0.0;
  machine_.node = {.ranks = 4, .link_bytes_per_s = machine_.network.bytes_per_s};
  const auto seconds_on = [&](const MachineDescription& machine, int rank_count) {
    const auto layout = comm::BlockLayout::even(problem_.n, grid_of(rank_count, 1));
    return communication_costs(machine, layout, {})[index_of(Phase::collection)];
  };
  auto alone = machine_;
  alone.node = {};
  EXPECT_DOUBLE_EQ(seconds_on(machine_, 16), 4.0 * seconds_on(alone, 16));
  EXPECT_EQ(seconds_on(machine_, 4), seconds_on(alone, 4));
}

/// Two nodes of four ranks: the butterfly's last step goes to the other node, and so does half of the shuffle.
TEST_F(CpPacsModelTest, MessagesWithinANodeTakeItsNetwork) {
  constexpr NetworkCost none{.start_up_s = 0.0, .bytes_per_s = 1e30, .add_s_per_element = 0.0};
  auto slow = none;
  slow.start_up_s = 10.0;
  auto fast = none;
  fast.start_up_s = 1.0;
  machine_.network = slow;
  machine_.node = {.ranks = 4, .link_bytes_per_s = 1e30, .network = fast};
  machine_.shuffles_kept_pieces = false;
  const auto costs_on = [&](int rank_count, int columns) {
    return communication_costs(machine_, comm::BlockLayout::even(problem_.n, grid_of(rank_count, columns)),
                               {});
  };
  EXPECT_NEAR(costs_on(8, 1)[index_of(Phase::collection)], 1.0 + 1.0 + 10.0, 1e-9);
  EXPECT_NEAR(costs_on(8, 1)[index_of(Phase::dot)], 1.0 + 1.0 + 10.0, 1e-9);
  EXPECT_NEAR(costs_on(8, 8)[index_of(Phase::summation)], 1.0 + 1.0 + 10.0, 1e-9);
  EXPECT_NEAR(costs_on(4, 1)[index_of(Phase::collection)], 1.0 + 1.0, 1e-9);
  EXPECT_NEAR(costs_on(4, 2)[index_of(Phase::shuffle)], 1.0, 1e-9);
  EXPECT_NEAR(costs_on(8, 2)[index_of(Phase::shuffle)], 10.0, 1e-9);
  machine_.node.network.reset();
  EXPECT_NEAR(costs_on(8, 1)[index_of(Phase::collection)], 30.0, 1e-9);
}

/// The digits that the paper prints, and the deviation of the basic costs from the measured clocks, per cent. They leave out the start-ups of the
/// collection while all units send at the same time, and little of the summation. Figures of this model, held
/// to 0.1.
TEST_F(CpPacsModelTest, DigitsOfThePaperAndDeviationsFromItsMeasuredClocks) {
  constexpr cp_pacs::ByColumns printed_collection{343, 187, 107, 64};
  constexpr cp_pacs::ByColumns printed_summation{0, 12, 37, 94};
  constexpr cp_pacs::ByColumns collection{-22.8, -26.0, -28.3, -25.9};
  constexpr cp_pacs::ByColumns summation{-100.0, -21.0, -8.2, 6.8};
  for (size_t k = 0; k < collection.size(); ++k) {
    SCOPED_TRACE(cp_pacs::columns[k]);
    const auto clocks = clocks_of(cp_pacs::columns[k]);
    EXPECT_EQ(std::round(clocks[index_of(Phase::collection)] / 1000), printed_collection[k]);
    EXPECT_EQ(std::round(clocks[index_of(Phase::summation)] / 1000), printed_summation[k]);
    EXPECT_NEAR(
        100 * (clocks[index_of(Phase::collection)] / clocks_in(cp_pacs::table_4, "collection")[k] - 1),
        collection[k], 0.1);
    EXPECT_NEAR(100 * (clocks[index_of(Phase::summation)] / clocks_in(cp_pacs::table_4, "summation")[k] - 1),
                summation[k], 0.1);
    if (k > 0) {
      EXPECT_NEAR(clocks[index_of(Phase::shuffle)] / clocks_in(cp_pacs::table_4, "shuffle")[k], 1.0, 0.04);
    }
  }
}

/// Fitted to Table 3 at Px = 1; the other columns differ by 10 % at most.
TEST_F(CpPacsModelTest, VectorOperationsMeetTable3) {
  const double elements = static_cast<double>(problem_.n) / paper_ranks;
  const double dot =
      clocks_of(1)[index_of(Phase::dot)] + machine_.vectors.dot_s_per_element * machine_.clock_hz * elements;
  const double update = machine_.vectors.update_s_per_element * machine_.clock_hz * elements;
  for (size_t k = 0; k < cp_pacs::columns.size(); ++k) {
    EXPECT_NEAR(dot / clocks_in(cp_pacs::table_3, "dotpro")[k], 1.0, k == 0 ? 0.001 : 0.1);
    EXPECT_NEAR(update / clocks_in(cp_pacs::table_3, "daxpy")[k], 1.0, k == 0 ? 0.001 : 0.05);
  }
}

/// The best grid is right for every number of ranks. Absolute times within 25 %. Relative to Px = 1 within 20 % in Table 6; in Table 2 too but
/// for Px = 4 and 8 on 16 and 32 units, where the measured Px = 1 is slower than the clocks of Table 4 account for: within 25 %.
TEST_F(CpPacsModelTest, BestGridsAndWholeTimesMeetTables2And6) {
  for (const auto* table : {&cp_pacs::table_2, &cp_pacs::table_6}) {
    const bool is_compiled = table == &cp_pacs::table_2;
    for (size_t row = 0; row < table->size(); ++row) {
      const auto& measured = (*table)[row];
      const int rank_count = cp_pacs::rank_counts[row];
      cp_pacs::ByColumns predicted{};
      for (size_t k = 0; k < measured.size(); ++k) {
        SCOPED_TRACE(std::to_string(rank_count) + " units, Px " + std::to_string(cp_pacs::columns[k]));
        predicted[k] = seconds_of(is_compiled ? "compiled" : "hand-made", rank_count, cp_pacs::columns[k]);
        const bool is_exception = is_compiled && rank_count <= 32 && k >= 2;
        EXPECT_NEAR(predicted[k] / measured[k], 1.0, 0.25);
        EXPECT_NEAR(predicted[k] / predicted[0] / (measured[k] / measured[0]), 1.0,
                    is_exception ? 0.25 : 0.20);
      }
      EXPECT_EQ(std::ranges::min_element(predicted) - predicted.begin(),
                std::ranges::min_element(measured) - measured.begin())
          << rank_count;
    }
  }
}

// ---------------------------------------------------------------- predictions for ranks and pieces that differ: each product takes as long as the slowest rank's

constexpr int steps = 75;

class UnevenRanksTest : public ::testing::Test {
 protected:
  Prediction predict_on(const comm::ProcessGrid& grid, const UnevenRanks& ranks) const {
    return predict(machine_, facts_of(*find_class("B")),
                   {.grid = grid, .kernel = "compiled", .sum_form = machine_.sum_form}, steps, ranks);
  }
  static double product_s(const Prediction& prediction) { return prediction.phase_s(Phase::multiply); }

  MachineDescription machine_ = basic_costs();
};

TEST_F(UnevenRanksTest, AllWaitForTheSlowRank) {
  for (const comm::ProcessGrid grid :
       {comm::ProcessGrid{.columns = 1, .rows = 4}, {.columns = 2, .rows = 2}}) {
    SCOPED_TRACE(grid.name());
    const auto even = predict_on(grid, {});
    const auto slow = predict_on(grid, {.slow = {{{.rank = 2, .factor = 3.0}}}});
    EXPECT_NEAR(product_s(slow) / product_s(even), 1.5, 1e-9) << "the mean over the ranks";
    EXPECT_NEAR((slow.total_s() - even.total_s()) / product_s(even), 2.0, 1e-9)
        << "the slowest takes 3 times as long";
    const auto waiting = grid.columns > 1 ? Phase::summation : Phase::dot;
    EXPECT_NEAR((slow.phase_s(waiting) - even.phase_s(waiting)) / product_s(even), 1.5, 1e-9);
    EXPECT_EQ(predict_on(grid, {.slowness = {1.0, 1.0, 3.0, 1.0}}).total_s(), slow.total_s());
  }
}

TEST_F(UnevenRanksTest, SlowPartsOfARunCountByTheirProducts) {
  constexpr int products = OuterStepCalls::products;
  const comm::ProcessGrid grid{.columns = 1, .rows = 4};
  const auto even = predict_on(grid, {});
  const auto begin_of = [](int step) { return int64_t{products} * step; };
  // The first outer step is not timed, so 25 of 75 are left after product 26 * 51.
  for (const auto& [first, part] :
       {std::pair(begin_of(51), 25.0 / 75.0), {begin_of(76), 0.0}, {0, 1.0}, {begin_of(1), 1.0}}) {
    const auto slow = predict_on(grid, {.slow = {{{.rank = 0, .factor = 2.0, .first_product = first}}}});
    EXPECT_NEAR((slow.total_s() - even.total_s()) / product_s(even), part, 1e-9) << first;
  }
}

}  // namespace
}  // namespace cg2d::cp_pacs_model_test
