// Predictions for ranks and pieces that differ: each product takes as long as the slowest rank's.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cg/machine/performance_model.hpp"
#include "comm/speed_shares.hpp"

namespace cg2d::uneven_ranks_test {
namespace {

constexpr int steps = 75;

class UnevenRanksTest : public ::testing::Test {
 protected:
  Prediction predict_on(const comm::ProcessGrid& grid, const UnevenRanks& ranks,
                        const std::vector<double>& shares = {}) const {
    auto matrix = facts_of(*find_class("B"));
    if (!shares.empty()) matrix.piece_starts = comm::piece_starts_of_shares(matrix.key.order, shares);
    return predict(machine_, matrix, {.grid = grid, .kernel = "compiled", .sum_form = machine_.sum_form},
                   steps, ranks);
  }
  static double product_s(const Prediction& prediction) { return prediction.phase_s(Phase::multiply); }

  MachineDescription machine_ = find_machine("cp-pacs").conditions.front();
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

/// Four equal ranks do in 1 what these do in 4 / 3.5.
TEST_F(UnevenRanksTest, SharesBySpeedWinBackTheTimeOfALine) {
  const std::vector<double> speeds{1.0, 1.0, 0.5, 1.0};
  const UnevenRanks ranks{.slow = {{{.rank = 2, .factor = 2.0}}}};
  const comm::ProcessGrid grid{.columns = 1, .rows = 4};
  const auto even = predict_on(grid, {});
  const auto cut = predict_on(grid, ranks, comm::shares_in_place(speeds, grid));
  const auto product_with_waiting_s = cut.total_s() - (even.total_s() - product_s(even));
  // Longer pieces have longer messages and vector operations, too.
  EXPECT_NEAR(product_with_waiting_s / product_s(even), 4.0 / 3.5, 0.05);
  const comm::ProcessGrid columns{.columns = 4, .rows = 1};
  EXPECT_LT(predict_on(columns, ranks, comm::shares_in_place(speeds, columns)).total_s(),
            predict_on(columns, ranks).total_s());
}

TEST_F(UnevenRanksTest, EqualSharesAreEvenPieces) {
  const comm::ProcessGrid grid{.columns = 2, .rows = 4};
  const auto even = predict_on(grid, {});
  EXPECT_NEAR(predict_on(grid, {}, comm::equal_shares(8)).total_s() / even.total_s(), 1.0, 1e-9);
}

}  // namespace
}  // namespace cg2d::uneven_ranks_test
