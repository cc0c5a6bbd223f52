// Statistics of measured times: verdicts on paired rounds (intervals by hand, few rounds, and 200 simulated sweeps with a known best grid), and
// lines through them; the measurements themselves are in model_test.py.

#include "cg/base/paired_comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "cg/base/sample.hpp"

namespace cg2d::paired_comparison_test {
namespace {

std::vector<double> ratios_around(double middle, int count) {
  std::vector<double> ratios;
  for (int k = 0; k < count; ++k) ratios.push_back(middle + 0.01 * ((7 * k) % count - count / 2));
  return ratios;
}

TEST(PairedComparisonTest, TheIntervalIsOfOrderStatistics) {
  // P(X <= 0) of 9 signs is 1/512, P(X <= 1) is 10/512 = 0.0195: rank 1 for 1 %, rank 2 for 2 %.
  const std::vector<double> ratios{1.3, 1.1, 1.5, 1.2, 1.9, 1.7, 1.4, 1.8, 1.6};
  EXPECT_DOUBLE_EQ(interval_of(ratios, 0.02).median, 1.5);
  const auto one_percent = interval_of({1.3, 1.9, 1.1, 1.8, 1.2, 1.7, 1.5, 1.4, 1.6}, 0.01);
  EXPECT_DOUBLE_EQ(one_percent.low, 1.1);
  EXPECT_DOUBLE_EQ(one_percent.high, 1.9);
  const auto two_percent = interval_of({1.3, 1.9, 1.1, 1.8, 1.2, 1.7, 1.5, 1.4, 1.6}, 0.02);
  EXPECT_DOUBLE_EQ(two_percent.low, 1.2);
  EXPECT_DOUBLE_EQ(two_percent.high, 1.8);
}

TEST(PairedComparisonTest, AsManyRoundsAsAVerdictNeedsDecideAndOneLessDoesNot) {
  EXPECT_EQ(fewest_rounds(0.025), 6);
  EXPECT_EQ(fewest_rounds(wrong_verdict_probability), 7);
  EXPECT_FALSE(interval_of(ratios_around(10.0, 6), wrong_verdict_probability).is_bounded());
  EXPECT_TRUE(interval_of(ratios_around(10.0, 7), wrong_verdict_probability).is_above(9.0));
  EXPECT_EQ(interval_of({}, 0.01).round_count, 0U);
  EXPECT_EQ(rounds_for_verdict(1), 3);
  EXPECT_EQ(rounds_for_verdict(2), 7);
  EXPECT_EQ(rounds_for_verdict(3), 8);
  EXPECT_EQ(rounds_for_verdict(6), 9);
  for (const size_t count : {2U, 3U, 6U, 40U}) {
    for (const int missing : {0, 1}) {
      std::vector<RoundTimes> alternatives(count);
      for (int round = 0; round < rounds_for_verdict(count) - missing; ++round) {
        for (size_t k = 0; k < count; ++k) alternatives[k].emplace(round, k == 0 ? 1.0 : 2.0);
      }
      EXPECT_EQ(find_best(alternatives).is_decided(), missing == 0) << count << " alternatives";
    }
  }
}

TEST(PairedComparisonTest, ARatioThatDriftsHasAWiderInterval) {
  std::vector<double> rising;
  for (int k = 0; k < 15; ++k) rising.push_back(std::exp(0.02 + 0.01 * k));
  auto mixed = rising;
  for (size_t k = 0; k < mixed.size(); ++k) mixed[k] = rising[(4 * k) % mixed.size()];
  const auto independent = interval_of(mixed, wrong_verdict_probability);
  const auto drifting = interval_of(rising, wrong_verdict_probability);
  EXPECT_TRUE(independent.is_above(1.02));
  // Theil and Sen's slope is 0.01 exactly: half of 14 * 0.01 on both sides.
  EXPECT_NEAR(std::log(independent.low / drifting.low), 0.07, 1e-12);
  EXPECT_NEAR(std::log(drifting.high / independent.high), 0.07, 1e-12);
}

TEST(PairedComparisonTest, RoundsAreCompared) {
  // Alone they overlap: each has rounds of 1 to 2 s. In every round the second takes 10 % more.
  RoundTimes fast;
  RoundTimes slow;
  for (int round = 1; round <= 9; ++round) {
    fast[round] = 1.0 + 0.125 * ((5 * round) % 9);
    slow[round] = 1.1 * fast[round];
  }
  const std::vector<RoundTimes> both{slow, fast};
  const auto verdict = find_best(both);
  EXPECT_EQ(verdict.candidate, 1U);
  EXPECT_TRUE(verdict.is_decided());
  EXPECT_NEAR(verdict.against[0].low, 1.1, 1e-12);
  const std::vector<std::string> names{"2x1", "1x2"};
  EXPECT_EQ(verdict_text(verdict, names, "--repeat"), "better than 2x1 by 10 % (10 ... 10 %)");
}

TEST(PairedComparisonTest, TheMedianRatioOfBByAIsTheInverseOfAByB) {
  const auto forth = interval_of({1.25, 2.0, 4.0, 0.5}, wrong_verdict_probability);
  const auto back = interval_of({0.8, 0.5, 0.25, 2.0}, wrong_verdict_probability);
  EXPECT_NEAR(forth.median, std::sqrt(1.25 * 2.0), 1e-12);
  EXPECT_NEAR(forth.median * back.median, 1.0, 1e-12);
}

TEST(PairedComparisonTest, WhatNoRoundSeparatesGetsNoNumber) {
  // Each is the faster one in every other round.
  RoundTimes one;
  RoundTimes other;
  for (int round = 1; round <= 10; ++round) {
    one[round] = round % 2 == 0 ? 1.0 : 1.1;
    other[round] = round % 2 == 0 ? 1.1 : 1.0;
  }
  const std::vector<RoundTimes> both{one, other};
  const std::vector<std::string> names{"1x2", "2x1"};
  EXPECT_FALSE(find_best(both).suggested_rounds);
  EXPECT_NE(verdict_text(find_best(both), names, "--repeat").find("the difference is below the noise"),
            std::string::npos);
  const std::vector<RoundTimes> apart{{{1, 1.0}}, {{2, 3.0}}};
  EXPECT_EQ(verdict_text(find_best(apart), names, "--repeat"),
            "faster than 2x1 by the median, in no common round");
  const std::vector<RoundTimes> alone{one};
  EXPECT_EQ(find_best(alone).certainty(), Certainty::alone);
  EXPECT_FALSE(find_best(alone).is_decided()) << "one alternative gets no verdict";
  EXPECT_EQ(verdict_text(find_best(alone), names, "--repeat"), "");
}

TEST(PairedComparisonTest, WordsSayThatNoneHasWon) {
  // 1x2 is faster in two of three rounds, and has the larger median.
  const std::vector<RoundTimes> both{{{1, 41.29}, {2, 39.0}, {3, 43.0}}, {{1, 40.81}, {2, 39.5}, {3, 43.5}}};
  const std::vector<std::string> names{"1x2", "2x1"};
  auto verdict = find_best(both);
  const std::string words = "faster than 2x1 in 2 of 3 rounds";
  EXPECT_EQ(verdict_text(verdict, names, ""), words + "; at least 7 rounds are needed");
  EXPECT_NE(verdict_text(verdict, names, "--repeat").find(" (take --repeat "), std::string::npos);
  // Half of the runs are not most of them.
  note_disturbed_runs(3, 6, verdict);
  EXPECT_TRUE(verdict.suggested_rounds.has_value());
  note_disturbed_runs(4, 6, verdict);
  EXPECT_FALSE(verdict.suggested_rounds.has_value());
  EXPECT_EQ(verdict_text(verdict, names, "--repeat"),
            words + "; too noisy to decide: most runs were disturbed");
}

// ---------------------------------------------------------------- simulated sweeps

/// On a machine that others use, too. Grid 0 is the best; the next takes `gap` more, the others a little more than that.
std::vector<RoundTimes> simulated_sweep(std::mt19937_64& bits, double gap, int grid_count, int round_count) {
  constexpr double run_noise = 0.03;     // lognormal, of each run
  constexpr double common_drift = 0.02;  // random walk from round to round that hits all alike
  constexpr double own_drift = 0.02;     // each grid's own: correlated over some rounds
  constexpr double own_trend = 0.01;     // each grid's own: from the first round to the last
  constexpr double spike_share = 0.01;   // of the runs, which take ten times as long
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<RoundTimes> grids(static_cast<size_t>(grid_count));
  std::vector<double> common(static_cast<size_t>(round_count));
  double walk = 0.0;
  for (auto& one : common) one = walk += common_drift * normal(bits);
  for (int grid = 0; grid < grid_count; ++grid) {
    const double factor = grid == 0 ? 1.0 : 1.0 + gap * (1.0 + 0.25 * (grid - 1));
    const double trend = own_trend * normal(bits);
    double own = own_drift * normal(bits);
    for (int round = 0; round < round_count; ++round) {
      const double logarithm = common[static_cast<size_t>(round)] + own + run_noise * normal(bits) +
                               trend * round / std::max(1, round_count - 1);
      const double spike = uniform(bits) < spike_share ? 10.0 : 1.0;
      grids[static_cast<size_t>(grid)][round] = factor * spike * std::exp(logarithm);
      own = 0.6 * own + 0.8 * own_drift * normal(bits);
    }
  }
  return grids;
}

/// Verdicts on simulated sweeps.
struct Outcomes {
  int right = 0;
  int wrong = 0;  ///< another grid than the best one was called best
  int open = 0;
};

Outcomes simulate(double gap, int grid_count, int round_count) {
  std::mt19937_64 bits(20261122U + static_cast<unsigned>(1e4 * gap) + static_cast<unsigned>(round_count));
  Outcomes outcomes;
  for (int k = 0; k < 200; ++k) {
    const auto verdict = find_best(simulated_sweep(bits, gap, grid_count, round_count));
    ++(!verdict.is_decided() ? outcomes.open : verdict.candidate == 0 ? outcomes.right : outcomes.wrong);
  }
  return outcomes;
}

TEST(SimulatedSweepsTest, TheWrongGridIsHardlyEverCalledBest) {
  // Gaps from none to clear, on every number of rounds: 200 sweeps of each.
  for (const double gap : {0.0, 0.005, 0.03, 0.2}) {
    for (const int round_count : {5, 7, 9, 15}) {
      for (const int grid_count : {2, 6}) {
        const auto outcomes = simulate(gap, grid_count, round_count);
        EXPECT_LE(outcomes.wrong, 2) << gap << ", " << round_count << " rounds, " << grid_count << " grids";
        if (round_count < 7) {
          EXPECT_EQ(outcomes.open, 200) << round_count << " rounds cannot decide";
        }
        if (gap > 0.1 && round_count == 15) {
          EXPECT_GE(outcomes.right, 160) << "a clear gap is found";
        }
        if (gap < 0.01) {
          EXPECT_GE(outcomes.open, 190) << "a gap below the noise is not distinguishable";
        }
      }
    }
  }
}

// ---------------------------------------------------------------- lines through measured times, and their spread

TEST(FitLineTest, FindsAnExactLine) {
  const auto line = fit_line({{8, 2.0 + 8}, {1000, 2.0 + 1000}, {1e6, 2.0 + 1e6}});
  EXPECT_NEAR(line.intercept, 2.0, 1e-9);
  EXPECT_NEAR(line.slope, 1.0, 1e-9);
}

/// A start-up of a microsecond is not lost beside times of milliseconds.
TEST(FitLineTest, WeighsRelativeDifferences) {
  const auto line = fit_line({{8, 1.05e-6}, {16, 0.97e-6}, {1e6, 1.02e-3}, {2e6, 1.98e-3}});
  EXPECT_NEAR(line.intercept, 1e-6, 0.1e-6);
  EXPECT_NEAR(line.slope, 1e-9, 0.05e-9);
}

TEST(FitLineTest, StaysWithinWhatTimesCanBe) {
  const auto through_origin = fit_line({{1, 0.1}, {2, 2.0}, {3, 4.5}});
  EXPECT_EQ(through_origin.intercept, 0.0);
  EXPECT_GT(through_origin.slope, 0.0);
  const auto level = fit_line({{1, 3.0}, {2, 2.0}, {4, 1.0}});
  EXPECT_EQ(level.slope, 0.0);
  EXPECT_GT(level.intercept, 0.0);
  const auto one_x = fit_line({{4, 8.0}, {4, 8.0}});
  EXPECT_DOUBLE_EQ(one_x.slope, 2.0);
  const auto nothing = fit_line({{1, 0.0}});
  EXPECT_EQ(nothing.slope, 0.0);
}

TEST(SpreadOfRepeatsTest, IsThatOfTheQuartiles) {
  EXPECT_DOUBLE_EQ(spread_of_repeats({1.0, 2.0, 3.0, 4.0, 5.0}), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(spread_of_repeats({1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 50.0}), 0.0) << "one spike";
  EXPECT_DOUBLE_EQ(spread_of_repeats({1.0, 5.0, 9.0}), 0.0) << "too few for quartiles";
}

}  // namespace
}  // namespace cg2d::paired_comparison_test
