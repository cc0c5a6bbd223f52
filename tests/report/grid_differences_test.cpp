// Why a grid is slower: words and tables from constructed rounds, and nothing claimed that is not sure.

#include "cg/report/run_verdict.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/result_records.hpp"
#include "support/shown_text.hpp"

namespace cg2d::grid_differences_test {
namespace {

using test::counted_record_of;
using test::expect_in;
using test::phase_record_of;

// Collection, multiply, summation, shuffle, dot, vector updates; seconds of a CG step.
constexpr PhaseValues fast{10e-6, 80e-6, 1e-6, 2e-6, 5e-6, 2e-6};
constexpr PhaseValues slow{10e-6, 94e-6, 4e-6, 2e-6, 5e-6, 2e-6};

/// Rounds of 1x2, and of 2x1, which is slower by 14 us in multiply and by 3 us in the summation.
std::vector<ResultRecord> clear_rounds(int round_count) {
  std::vector<ResultRecord> records;
  for (int round = 1; round <= round_count; ++round) {
    const double common = 1.0 + 0.01 * ((2 * round) % 9);
    for (const auto* phases : {&fast, &slow}) {
      auto values = *phases;
      for (double& value : values) value *= common;
      // Noise of the same size in a phase that does not differ.
      values[4] *= 1.0 + 0.01 * ((phases == &fast) == (round % 2 == 0) ? 1 : 0);
      records.push_back(phase_record_of(phases == &fast ? 1 : 2, phases == &fast ? 2 : 1, values, round));
      auto& summation = records.back().work->phases.at(index_of(Phase::summation));
      if (phases == &slow) {
        summation.messages = test::phase_steps;
        summation.sent_bytes = 29120.0 * test::phase_steps;
        summation.waited_s = 2e-6 * common * test::phase_steps;
      }
    }
  }
  return records;
}

std::vector<GridDifference> differences_of(const std::vector<ResultRecord>& records) {
  return differences_from_best(verdicts_of(records).grids.front());
}

TEST(GridDifferencesTest, WordsNameThePhasesByTheirShares) {
  const auto differences = differences_of(clear_rounds(9));
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_TRUE(differences.front().is_sure());
  const auto words = difference_words(differences.front());
  expect_in(
      words,
      "2x1 is 17 % (17 ... 17 %) slower than 1x2, +17.7 us per CG step; of it 82 % multiply (+14.6 us)");
  expect_in(words, "18 % summation (+3.12 us)");
  const auto& summation = differences.front().phases.at(index_of(Phase::summation)).change;
  EXPECT_NEAR(summation.waited_s, 2.08e-6, 1e-8);
  EXPECT_DOUBLE_EQ(summation.messages, 1.0);
  EXPECT_DOUBLE_EQ(summation.sent_bytes, 29120.0);
  EXPECT_EQ(words.find("dot"), std::string::npos) << words;
  EXPECT_EQ(words.find("collection"), std::string::npos) << words;
}

TEST(GridDifferencesTest, PartsAddUpWithNoiseThatMovesTheMedianRoundOfEachPhase) {
  // Each phase has its own noise, larger than the differences: medians of each phase would be of other rounds.
  std::mt19937_64 bits(18);
  std::lognormal_distribution<double> noise(0.0, 0.3);
  for (const int round_count : {1, 2, 7, 8, 9, 15}) {
    std::vector<ResultRecord> records;
    for (int round = 1; round <= round_count; ++round) {
      for (const auto* phases : {&fast, &slow}) {
        auto values = *phases;
        for (double& value : values) value *= noise(bits);
        records.push_back(phase_record_of(phases == &fast ? 1 : 2, phases == &fast ? 2 : 1, values, round));
      }
    }
    const auto difference = differences_of(records).front();
    double whole_s = 0.0;
    for (const auto& phase : difference.phases) {
      whole_s += phase.change.measured_s;
      EXPECT_NEAR(phase.change.measured_s, phase.slower.measured_s - phase.faster.measured_s, 1e-15)
          << "not that of its columns";
    }
    EXPECT_NEAR(whole_s, difference.difference_s, 1e-15) << round_count;
  }
}

TEST(GridDifferencesTest, OneRoundThatTookTenTimesAsLongMovesNothing) {
  const auto before = differences_of(clear_rounds(9)).front();
  auto records = clear_rounds(9);
  auto& disturbed = records.at(9);  // 2x1 in round 5
  for (auto& phase : disturbed.work->phases) phase.measured_s *= 10.0;
  disturbed.time_s *= 10.0;
  disturbed.times_s.front() *= 10.0;
  const auto after = differences_of(records).front();
  // The middle half moves on by one round of those that differ by 1 % from each other.
  EXPECT_NEAR(after.difference_s, before.difference_s, 0.02 * before.difference_s);
}

TEST(GridDifferencesTest, SixRoundsAreTooFewToExplainAnything) {
  const auto records = clear_rounds(6);
  const auto differences = differences_of(records);
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(difference_words(differences.front()),
            "2x1 and 1x2: not decided: 6 of at least 7 rounds, so nothing to explain");
}

TEST(GridDifferencesTest, EventsOfRunsOfTheirOwnAreThereWhereTheyDiffer) {
  auto records = clear_rounds(9);
  // 1000 against 1900 in multiply; 4 against 7 in dot is chance.
  records.push_back(counted_record_of(1, 2, fast, {0, 1000, 0, 0, 4, 0}));
  records.push_back(counted_record_of(2, 1, slow, {0, 1900, 0, 0, 7, 0}));
  const auto differences = differences_of(records);
  ASSERT_EQ(differences.size(), 1U);
  ASSERT_EQ(differences.front().events.size(), 1U);
  EXPECT_EQ(differences.front().events.front().phase, Phase::multiply);
  EXPECT_NEAR(differences.front().events.front().ratio(), 1.9, 1e-12);
}

TEST(GridDifferencesTest, TwoNamedGridsAreComparedWhicheverIsSlower) {
  const auto records = clear_rounds(9);
  const auto row = verdicts_of(records).grids.front();
  for (const auto& pair : {GridPair{{.columns = 1, .rows = 2}, {.columns = 2, .rows = 1}},
                           GridPair{{.columns = 2, .rows = 1}, {.columns = 1, .rows = 2}}}) {
    const auto difference = difference_of_pair(row, pair);
    ASSERT_TRUE(difference);
    EXPECT_EQ(difference->slower.arrangement(), "2x1");
  }
  EXPECT_FALSE(difference_of_pair(row, {{.columns = 1, .rows = 4}, {.columns = 1, .rows = 2}}));
}

TEST(GridDifferencesTest, AWrongPhaseIsRarelyNamed) {
  // Multiply differs by 20 %, nothing else; the noise of every phase is 5 %. Each of five other phases may be named in
  // 2 of 100 sweeps.
  std::mt19937_64 bits(7);
  std::normal_distribution<double> normal;
  int wrong = 0;
  int right = 0;
  constexpr int sweep_count = 200;
  for (int sweep = 0; sweep < sweep_count; ++sweep) {
    std::vector<ResultRecord> records;
    for (int round = 1; round <= 9; ++round) {
      for (int columns = 1; columns <= 2; ++columns) {
        PhaseValues values{20e-6, columns == 1 ? 100e-6 : 130e-6, 20e-6, 20e-6, 20e-6, 20e-6};
        for (double& value : values) value *= 1.0 + 0.05 * normal(bits);
        records.push_back(phase_record_of(columns, 3 - columns, values, round));
      }
    }
    for (const auto& difference : differences_of(records)) {
      for (const auto& phase : difference.phases) {
        if (phase.is_sure()) ++(phase.phase == Phase::multiply ? right : wrong);
      }
    }
  }
  EXPECT_LT(wrong, 2 * 5 * 2 * sweep_count / 100);
  EXPECT_GT(right, sweep_count * 9 / 10);
}

TEST(GridDifferencesTest, EventsAndLimitsOfEachGridAreATable) {
  auto records = clear_rounds(9);
  records.push_back(counted_record_of(1, 2, fast, {100, 1000, 0, 0, 400, 0}));
  auto limited = phase_record_of(2, 1, slow);
  limited.purpose = RunPurpose::limits;
  limited.slowed_by = "--roofline";
  limited.limits.emplace().at(1) = {
      .byte_count = 5e6, .flop_count = 1e6, .shortest_s = 0.5, .measured_s = 1.0};
  records.push_back(limited);
  const auto text = phase_table_of_grids(verdicts_of(records).grids.front().cells, false);
  expect_in(text, "events per CG step and the share of the machine's limit");
  expect_in(text, "    1x2       PAPI_L2_TCM                                   1             10");
  expect_in(text, "    2x1       share of the limit                            -         50.0 %");
  EXPECT_EQ(phase_table_of_grids(verdicts_of(clear_rounds(9)).grids.front().cells, false), "");
}

}  // namespace
}  // namespace cg2d::grid_differences_test
