// When another cut pays: ranks that have become slower, noise, and the end of the work.

#include "cg/run/rebalance/rebalance_feature.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "comm/speed_shares.hpp"

namespace cg2d::drift_watch_test {
namespace {

using Numbers = std::vector<double>;

constexpr comm::ProcessGrid line{.columns = 2, .rows = 1};

/// The shares to which a watch would move, if any.
std::optional<Numbers> shares_of(const DriftWatch& watch, const comm::ProcessGrid& grid,
                                 const MoveCost& cost) {
  if (!watch.pays(cost)) return std::nullopt;
  auto shares = comm::shares_in_place(watch.speeds(), grid);
  if (!watch.pays(cost, shares)) return std::nullopt;
  return shares;
}

TEST(DriftWatchTest, ASlowRankGetsLessWhenThreeIterationsSaySo) {
  DriftWatch watch(line);
  const MoveCost cost{.seconds = 10.0, .steps_left = 50};
  for (int step = 0; step < 5; ++step) watch.note({.seconds = {1.0, 1.0}, .nonzeros = {500.0, 500.0}});
  EXPECT_FALSE(shares_of(watch, line, cost));
  for (int step = 1; step <= 2; ++step) {
    watch.note({.seconds = {1.0, 2.0}, .nonzeros = {500.0, 500.0}});
    EXPECT_FALSE(shares_of(watch, line, cost)) << "after " << step;
  }
  watch.note({.seconds = {1.0, 2.0}, .nonzeros = {500.0, 500.0}});
  const auto shares = shares_of(watch, line, cost);
  ASSERT_TRUE(shares);
  EXPECT_NEAR((*shares)[0], 2.0 / 3.0, 1e-6);
  EXPECT_DOUBLE_EQ(watch.slowest_s(), 2.0);
  EXPECT_EQ(watch.mean_load().seconds, (Numbers{1.0, 2.0}));
  watch.forget();
  EXPECT_FALSE(shares_of(watch, line, cost));
}

TEST(DriftWatchTest, NoiseAndWhatPassesAreNotFollowed) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> noise(0.95, 1.05);
  DriftWatch watch(line);
  const MoveCost cost{.seconds = 10.0, .steps_left = 70};
  for (int step = 0; step < 1000; ++step) {
    const double disturbance = step % 10 < 2 ? 3.0 : 1.0;
    watch.note({.seconds = {noise(random), disturbance * noise(random)}, .nonzeros = {500.0, 500.0}});
    ASSERT_FALSE(shares_of(watch, line, cost)) << step;
  }
}

TEST(DriftWatchTest, AMoveMustBringBackMoreThanItCosts) {
  DriftWatch watch(line);
  for (int step = 0; step < 3; ++step) watch.note({.seconds = {1.0, 2.0}, .nonzeros = {500.0, 500.0}});
  // An iteration would take 4/3 s in place of 2.
  EXPECT_TRUE(shares_of(watch, line, {.seconds = 10.0, .steps_left = 19}));
  EXPECT_FALSE(shares_of(watch, line, {.seconds = 10.0, .steps_left = 18}))
      << "12 s for 10, which may not last";
  EXPECT_FALSE(shares_of(watch, line, {.seconds = 0.0, .steps_left = 0}));
}

TEST(DriftWatchTest, SmallGainsAreNoise) {
  DriftWatch watch(line);
  for (int step = 0; step < 3; ++step) watch.note({.seconds = {1.0, 1.03}, .nonzeros = {500.0, 500.0}});
  EXPECT_FALSE(shares_of(watch, line, {.seconds = 0.001, .steps_left = 1000})) << "1.5 %";
}

/// On a square grid the shares of a row and of a column meet: the sum of the speeds promises what no cut reaches.
TEST(DriftWatchTest, TheGridDecidesWhatAMoveReaches) {
  const comm::ProcessGrid square{.columns = 2, .rows = 2};
  DriftWatch watch(square);
  for (int step = 0; step < 3; ++step)
    watch.note({.seconds = {1.0, 1.25, 1.25, 1.0}, .nonzeros = {250.0, 250.0, 250.0, 250.0}});
  const MoveCost cost{.seconds = 1.0, .steps_left = 20};
  EXPECT_TRUE(watch.pays(cost));
  EXPECT_FALSE(watch.pays(cost, comm::shares_in_place(watch.speeds(), square)));
}

TEST(DriftWatchTest, ARankWithoutNonzerosCountsAsTheMeanOfTheOthers) {
  DriftWatch watch({.columns = 3, .rows = 1});
  for (int step = 0; step < 3; ++step)
    watch.note({.seconds = {1.0, 0.0, 3.0}, .nonzeros = {600.0, 0.0, 600.0}});
  EXPECT_EQ(watch.speeds(), (Numbers{600.0, 400.0, 200.0}));
}

}  // namespace
}  // namespace cg2d::drift_watch_test
