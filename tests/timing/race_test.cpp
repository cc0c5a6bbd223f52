// The rate of a work that all ranks do at the same time, with work that takes as long as it is told to (no machine's speed is asserted); how sure
// a race is of its winner, by the turns of the works, and what the first screen says of it.

#include "cg/timing/race.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/report/report.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/run_plan.hpp"
#include "cg/tuning/trial.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::race_test {
namespace {

/// Takes 0.1 ms per pass and rank number, by the clock: ranks with the rates 1, 1/2, 1/3, ...
bool take_time(int rank, int64_t pass_count) {
  constexpr double pass_s = 1e-4;
  const Stopwatch watch;
  while (watch.seconds() < pass_s * static_cast<double>(pass_count) * (rank + 1)) {
  }
  return true;
}

TEST(CommonPassRateTest, NoRankIsFasterThanItsWork) {
  const int rank = test::group().rank();
  const double rate =
      common_pass_rate(test::group(), [rank](int64_t pass_count) { return take_time(rank, pass_count); });
  // A pass cannot take less than its time, however quiet the machine is.
  constexpr double rounding = 1.001;
  EXPECT_GT(rate, 0.0);
  EXPECT_LE(rate, rounding * 1e4 / (rank + 1));
}

TEST(CommonPassRateTest, OneRanksWrongResultThrowsOnAll) {
  auto& group = test::group();
  const bool is_right = group.rank() != group.size() - 1;
  const auto work = [&](int64_t pass_count) { return take_time(0, pass_count) && is_right; };
  EXPECT_THROW(static_cast<void>(common_pass_rate(group, work)), RunError);
}

/// Seconds of so many turns with a little noise.
std::vector<double> turns_around(double seconds, int count) {
  std::vector<double> turns;
  for (int turn = 0; turn < count; ++turn) turns.push_back(seconds * (1.0 + 0.005 * ((4 * turn) % count)));
  return turns;
}

TEST(RaceVerdictTest, HopelessWorksAreNotCompared) {
  const std::vector<std::string> names{"1x2", "2x1", "4x1"};
  const std::vector turns{turns_around(1.2, 9), turns_around(1.0, 9), turns_around(5.0, 1)};
  EXPECT_EQ(race_verdict(turns, names).text(), "2x1 is better than 1x2 by 20 % (20 ... 20 %)");
  const auto alone = race_verdict(std::vector{turns_around(1.0, 9), turns_around(5.0, 1)}, names);
  EXPECT_EQ(alone.text(), "");
  EXPECT_EQ(alone.candidate, "1x2");
  EXPECT_EQ(alone.certainty, Certainty::alone);
}

/// The first screen's words for a grid that a trial of these turns chose.
std::string grid_words(const std::vector<std::vector<double>>& turns) {
  const std::vector<std::string> names{"1x2", "2x1"};
  GridTrial trial;
  trial.shortlist.made_by = "rule";
  trial.verdict = race_verdict(turns, names);
  trial.tried = {{.name = names[0], .step_s = turns[0].front()},
                 {.name = names[1], .step_s = turns[1].front()}};
  trial.best = trial.verdict.candidate;
  trial.best_grid = comm::ProcessGrid{.columns = 1, .rows = 2};
  if (trial.best != trial.best_grid.name()) trial.best_grid = {.columns = 2, .rows = 1};
  return grid_summary({.grid = trial.best_grid}, true, trial);
}

TEST(GridSummaryTest, OnlyADecidedTrialNamesTheFastest) {
  EXPECT_EQ(grid_words({turns_around(1.2, 9), turns_around(1.0, 9)}),
            "2x1, best of 2 tried: better than 1x2 by 20 % (20 ... 20 %); two-sided messages, 1 "
            "thread per rank");
  // 1.42 times as long in each of three turns, and in nine that no bound separates.
  EXPECT_EQ(grid_words({turns_around(1.42, 3), turns_around(1.0, 3)}),
            "2x1, no clear winner of 2 tried: faster than 1x2 in 3 of 3 rounds; at least 7 rounds are "
            "needed; two-sided messages, 1 thread per rank");
  EXPECT_EQ(grid_words({{1.42, 1.42, 1.42, 1.42, 1.42, 1.42, 0.9, 0.9, 0.9}, std::vector<double>(9, 1.0)}),
            "2x1, no clear winner of 2 tried: faster than 1x2 in 6 of 9 rounds; two-sided messages, 1 "
            "thread per rank");
  EXPECT_EQ(grid_words({turns_around(5.0, 1), turns_around(1.0, 9)}),
            "2x1, of 2 tried; the others soon fell behind; two-sided messages, 1 thread per rank");
}

TEST(KernelSummaryTest, TheUsualKernelThatATrialKeepsIsNotCalledTheFastest) {
  const Configuration configuration{.grid = {.columns = 1, .rows = 1}, .kernel = "sell-rows"};
  RaceVerdict verdict{
      .candidate = "sell", .certainty = Certainty::decided, .reason = "better than sell-rows by 3.0 %"};
  EXPECT_EQ(kernel_summary(configuration, "avx2", ChoiceOrigin::trial, &verdict),
            "sell-rows, avx2, by a trial");
  verdict.candidate = "sell-rows";
  EXPECT_EQ(kernel_summary(configuration, "avx2", ChoiceOrigin::trial, &verdict),
            "sell-rows, avx2, the fastest of those tried");
  verdict.certainty = Certainty::not_distinguishable;
  EXPECT_EQ(kernel_summary(configuration, "avx2", ChoiceOrigin::trial, &verdict),
            "sell-rows, avx2, by a trial");
}

}  // namespace
}  // namespace cg2d::race_test
