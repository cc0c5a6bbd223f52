// The rounds that --until-sure adds, and 200 simulated sweeps that end when it is sure.

#include "cg/studies/sweep.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "support/result_records.hpp"

namespace cg2d::sweep_rounds_test {
namespace {

using test::asked_on;
using test::record_of;

/// Rounds of 1x2 and 2x1 with this ratio of their times, and two grids of 4 ranks that are far apart.
std::vector<ResultRecord> records_of(double ratio, int round_count) {
  std::vector<ResultRecord> records;
  for (int round = 1; round <= round_count; ++round) {
    const double noise = 1.0 + 0.001 * ((4 * round) % 9);
    records.push_back(record_of(1, 2, 1.0, round));
    records.push_back(record_of(2, 1, ratio * noise, round));
    records.push_back(record_of(1, 4, 1.0, round));
    records.push_back(record_of(4, 1, 2.0 * noise, round));
  }
  return records;
}

TEST(SweepRoundsTest, OnlyWhatIsUndecidedRunsAgain) {
  EXPECT_EQ(open_configurations(records_of(1.5, 3), 0.02).size(), 4U);
  EXPECT_TRUE(open_configurations(records_of(1.5, 9), 0.02).empty());
  // 3 %, undecided by noise in both directions.
  auto records = records_of(1.03, 9);
  for (auto& record : records) {
    if (record.asked == asked_on(2, 1) && record.round % 2 == 0) record.times_s.front() = 0.97;
  }
  const auto open = open_configurations(records, 0.02);
  EXPECT_EQ(open.size(), 2U);
  for (const auto& one : open) EXPECT_EQ(one.configuration.grid.rank_count(), 2);
}

TEST(SweepRoundsTest, WhatIsWithinThePrecisionOfTheBestIsSettled) {
  // 0.5 % apart: less than is ever called better.
  EXPECT_TRUE(open_configurations(records_of(1.005, 9), 0.02).empty());
  EXPECT_FALSE(open_configurations(records_of(1.005, 9), 0.005).empty());
}

TEST(SweepRoundsTest, BlocksOfRoundsGrowWithWhatThereIs) {
  EXPECT_GE(rounds_after_next_block(3, 2), 7);
  EXPECT_EQ(rounds_after_next_block(20, 2), 30);
}

/// Adds rounds of 1x4, the best one, 2x2 and 4x1, with lognormal noise and runs that take ten times as long.
void measure(std::mt19937_64& bits, double gap, int first, int last, std::vector<ResultRecord>& records) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  for (int round = first; round <= last; ++round) {
    const double common = 0.05 * normal(bits);
    for (int columns = 1, k = 0; columns <= 4; columns *= 2, ++k) {
      const double spike = uniform(bits) < 0.01 ? 10.0 : 1.0;
      const double time_s = (1.0 + gap * k) * spike * std::exp(common + 0.03 * normal(bits));
      records.push_back(record_of(columns, 4 / columns, time_s, round));
    }
  }
}

TEST(SweepRoundsTest, SimulatedSweepsThatEndWhenTheyAreSureNameTheBest) {
  // Looking again and again is another chance to be wrong, each time.
  for (const double gap : {0.01, 0.03, 0.1}) {
    std::mt19937_64 bits(static_cast<unsigned>(1e4 * gap));
    int wrong = 0;
    int right = 0;
    for (int sweep = 0; sweep < 200; ++sweep) {
      std::vector<ResultRecord> records;
      measure(bits, gap, 1, 3, records);
      constexpr int most_rounds = 60;
      int last = 3;
      for (auto open = open_configurations(records, 0.02); !open.empty();
           open = open_configurations(records, 0.02)) {
        const int next = rounds_after_next_block(last, open.size());
        if (next > most_rounds) break;
        measure(bits, gap, last + 1, next, records);
        last = next;
      }
      const auto ranking = verdicts_of(records).grids.front().ranking;
      if (!ranking.is_decided()) continue;
      ++(ranking.candidate()->asked == asked_on(1, 4) ? right : wrong);
    }
    EXPECT_LE(wrong, 2) << gap;
    if (gap >= 0.1) {
      EXPECT_GE(right, 190) << gap;
    }
  }
}

}  // namespace
}  // namespace cg2d::sweep_rounds_test
