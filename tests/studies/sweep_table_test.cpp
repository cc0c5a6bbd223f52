// The paper's table: medians, spread, marks, verdicts and failures.

#include "cg/studies/sweep.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "support/error_of.hpp"
#include "support/result_records.hpp"

namespace cg2d::sweep_table_test {
namespace {

using test::expect_in;
using test::failed_record_of;
using test::record_of;

/// Nine rounds of 1x2 and 2x1, which takes 25 % more.
std::vector<ResultRecord> clear_sweep() {
  std::vector<ResultRecord> records;
  for (int round = 1; round <= 9; ++round) {
    const double time_s = 0.9 + 0.025 * ((2 * round) % 9);
    records.push_back(record_of(1, 2, time_s, round));
    records.push_back(record_of(2, 1, 1.25 * time_s, round));
  }
  return records;
}

TEST(SweepTableTest, MarksBestAndOfficialAndNamesTheCost) {
  const auto text = sweep_tables(clear_sweep());
  expect_in(text, "Class S, auto two-sided 1 thread (sell)\n");
  expect_in(text, "1*   20%");
  expect_in(text, "1.25o   20%");
  expect_in(text,
            "P = 2: best is 1x2 with 1 s, better than 2x1 by 25 % (25 ... 25 %); the official 2x1 costs 25 % "
            "(25 ... 25 %) more.");
}

TEST(SweepTableTest, GridsOfNoTableAreNamed) {
  expect_in(
      sweep_tables(clear_sweep(), {.why = GridPair{{.columns = 1, .rows = 4}, {.columns = 2, .rows = 2}}}),
      "\n  Why: no table has times of the phases of both 1x4 and 2x2.\n");
}

/// Tables of clear_sweep() with a run that would make 2x1 the best one, and with something that forbids to
/// compare it.
template <typename Forbid>
std::string tables_with(const Forbid& forbid) {
  auto records = clear_sweep();
  for (int round = 1; round <= 8; ++round) {
    auto record = record_of(2, 1, 0.1, round);
    forbid(record);
    records.push_back(record);
  }
  return sweep_tables(records);
}

TEST(SweepTableTest, RunsThatAreNotComparableAreLeftOutAndNamed) {
  const std::string verdict = "P = 2: best is 1x2 with 1 s, better than 2x1 by 25 % (25 ... 25 %)";
  auto text = tables_with([](auto& record) { record.slowed_by = "--papi"; });
  expect_in(text, verdict);
  expect_in(text, "Left out, 8 runs: it ran with --papi: S 2x1 ");
  text = tables_with([](auto& record) { record.session = "another"; });
  expect_in(text, verdict);
  expect_in(text,
            "Left out, 8 runs: it is of another session than most of the 26 runs with the same choices");
}

TEST(SweepTableTest, RunsOfOneRoundInTwoSittingsAreNotPaired) {
  auto records = clear_sweep();
  for (auto& record : records) record.sitting = record.asked.configuration.grid.columns;
  expect_in(sweep_tables(records),
            "no clear winner: 1x2 (median 1 s) was faster than 2x1 by the median, in no common round; the "
            "official");
}

TEST(SweepTableTest, TheBestOfSeveralTablesIsNamed) {
  auto records = clear_sweep();
  for (const auto& record : clear_sweep()) {
    records.push_back(record);
    records.back().asked.configuration.kernel = "scalar";
    records.back().times_s.front() *= 2.0;
  }
  const auto text = sweep_tables(records);
  expect_in(
      text,
      "Class S, P = 2, 1 thread per rank: best is 1x2 auto two-sided 1 thread with 1 s, better than 2x1 auto "
      "two-sided 1 thread by 25 % (25 ... 25 %).\n");
  expect_in(text, "\n    1x2 auto two-sided 1 thread         1*     20 %         1.000\n");
  expect_in(text, "\n    2x1 scalar two-sided 1 thread     2.5     20 %         2.500\n");
}

TEST(SweepTableTest, UndecidedChoicesAreATableAndNoLongSentence) {
  std::vector<ResultRecord> records;
  for (const auto* const kernel : {"scalar", "sell", "csr-short", "symmetric"}) {
    for (int round = 1; round <= 3; ++round) {
      records.push_back(record_of(1, 2, 1.0 + 0.01 * static_cast<double>(records.size() % 5), round));
      records.back().asked.configuration.kernel = kernel;
    }
  }
  expect_in(sweep_tables(records),
            "Class S, P = 2, 1 thread per rank: no clear winner, 4 may be best (~); at least 9 rounds are "
            "needed (take --repeat ");
}

TEST(SweepTableTest, FailuresAreShownAndNeverBest) {
  const auto text = sweep_tables(
      {record_of(1, 2, 1.0), failed_record_of(2, 1, "verification-failed"), record_of(2, 1, 0.5, 2)});
  expect_in(text, "failedo");
  expect_in(text,
            "P = 2: 1x2 with 1 s: nothing to compare it with; the official 2x1 failed, or "
            "was not measured.");
  expect_in(text, "Failed: 2x1, 1 of 2 runs: verification-failed: for a reason");
  expect_in(sweep_tables({failed_record_of(1, 1, "unavailable")}), "P = 1: no grid succeeded.");
  expect_in(sweep_tables({record_of(1, 3, 1.0), record_of(3, 1, 2.0)}), "no official grid");
  EXPECT_EQ(sweep_tables({}), "No results.\n");
}

/// The phases take 0.1, 0.2 ... of the time; each was predicted as that many times as long.
ResultRecord predicted_record(int columns, int rows, double time_s, double factor, int round = 1) {
  auto record = record_of(columns, rows, time_s, round);
  record.work = RecordedWork{};
  record.prediction.emplace().outside_s = -1.1 * factor * time_s;  // the phases take 2.1
  for (size_t index = 0; index < benchmark_phase_count; ++index) {
    record.work->phases.at(index).measured_s = 0.1 * static_cast<double>(index + 1) * time_s;
    record.prediction->phases.at(index) = factor * record.work->phases.at(index).measured_s;
  }
  return record;
}

/// The words of the first line that begins with the given words.
std::vector<std::string> words_behind(const std::string& text, const std::string& begin) {
  const auto shown = test::squeezed(text);
  std::istringstream line(shown.substr(shown.find("\n " + begin) + 2 + begin.size()));
  std::string all;
  std::getline(line, all);
  std::istringstream words(all);
  return {std::istream_iterator<std::string>(words), {}};
}

TEST(SweepTableTest, PredictedStandsBesideMeasuredAndWhatIsNotKnownIsADash) {
  EXPECT_EQ(sweep_tables({record_of(1, 2, 1.0)}).find("predicted"), std::string::npos);
  // The run with the median time counts, with its own prediction: 2 s.
  const auto text = sweep_tables({predicted_record(1, 2, 3.0, 5.0), predicted_record(1, 2, 2.0, 1.25, 2),
                                  predicted_record(1, 2, 1.0, 7.0, 3)});
  EXPECT_EQ(words_behind(text, "1x2 measured s"),
            (std::vector<std::string>{"0.200000", "0.400000", "0.600000", "0.800000", "1.000000", "1.200000",
                                      "2.000000"}));
  EXPECT_EQ(words_behind(text, "1x2 predicted s"),
            (std::vector<std::string>{"0.250000", "0.500000", "0.750000", "1.000000", "1.250000", "1.500000",
                                      "2.500000"}));
  auto untimed = predicted_record(1, 2, 1.0, 0.5);
  untimed.work.reset();
  EXPECT_EQ(words_behind(sweep_tables({untimed}), "1x2 measured s"),
            (std::vector<std::string>{"-", "-", "-", "-", "-", "-", "1.000000"}));
}

TEST(SweepTableTest, ClocksOfThePaperAreOfEachGridAndPhase) {
  constexpr PhaseValues phases{10e-6, 20e-6, 1e-6, 2e-6, 5e-6, 2e-6};
  std::vector<ResultRecord> records;
  for (int columns = 1; columns <= 4; columns *= 2)
    records.push_back(test::phase_record_of(columns, 4 / columns, phases));
  EXPECT_EQ(sweep_tables(records).find("clocks per step"), std::string::npos);
  const auto text = sweep_tables(records, {.has_paper = true});
  for (const std::string grid : {"1x4", "2x2", "4x1"})
    EXPECT_EQ(words_behind(text, grid + " clocks per step"),
              (std::vector<std::string>{"10000", "20000", "1000", "2000", "5000", "2000"}));
}

/// A record of a run that something disturbed.
ResultRecord disturbed_record(int columns, int rows, double time_s, int round, int attempt) {
  auto record = record_of(columns, rows, time_s, round);
  record.attempt = attempt;
  record.disturbance = "a compiler";
  return record;
}

TEST(SweepTableTest, DisturbedRunsAreMarkedAndCounted) {
  const auto text = sweep_tables({disturbed_record(1, 2, 2.0, 1, 1), record_of(2, 1, 1.0)});
  expect_in(text, " 2~! ");
  expect_in(text, " 1~o\n");
  expect_in(text, "  Disturbed (!): 1x2, 1 of 1 run, in round 1: a compiler\n");
  expect_in(text, "(take --repeat ");
  expect_in(text, "\n! something else worked on the machine");
  const auto quiet = sweep_tables({record_of(1, 2, 2.0), record_of(2, 1, 1.0)});
  EXPECT_EQ(quiet.find('!'), std::string::npos) << quiet;
  EXPECT_EQ(quiet.find("Disturbed"), std::string::npos) << quiet;
}

TEST(SweepTableTest, TheLastAttemptOfARoundCountsFastOrSlow) {
  std::vector<ResultRecord> records{disturbed_record(1, 2, 9.0, 1, 1), record_of(1, 2, 1.5, 2),
                                    disturbed_record(1, 2, 1.0, 1, 2), record_of(1, 2, 2.0, 1)};
  records.back().attempt = 3;
  mark_replaced(records);
  const auto text = sweep_tables(records);
  expect_in(text, "1.5    33%");
  expect_in(text, "  Disturbed (!): 1x2, 0 of 2 runs; 2 more were repeated\n");
  const auto busy = sweep_tables({disturbed_record(1, 2, 2.0, 1, 1), disturbed_record(2, 1, 1.0, 1, 1)});
  expect_in(busy,
            "in 1 of 1 round; too noisy to decide: most runs were disturbed; 2x1 is the official grid.");
}

// ---------------------------------------------------------------- the rounds that --until-sure adds, and 200 simulated sweeps that end when it is sure

using test::asked_on;

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
}  // namespace cg2d::sweep_table_test
