// The criterion of a regression, and the exported columns; and why a grid is slower: words and tables from constructed rounds, and nothing
// claimed that is not sure.

#include "cg/report/run_verdict.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "support/error_of.hpp"
#include "support/result_records.hpp"

namespace cg2d::run_verdict_test {
namespace {

using test::counted_record_of;
using test::expect_in;
using test::failed_record_of;
using test::phase_record_of;
using test::record_of;

/// Runs of a sweep: on each of so many grids the same times, round by round.
std::vector<ResultRecord> runs_of(const std::vector<double>& times_s, int grid_count = 1) {
  std::vector<ResultRecord> records;
  for (int grid = 1; grid <= grid_count; ++grid) {
    for (size_t round = 0; round < times_s.size(); ++round)
      records.push_back(record_of(1, grid, times_s[round], static_cast<int>(round) + 1));
  }
  return records;
}

std::vector<double> times_around(double middle, int count) {
  std::vector<double> times_s;
  for (int k = 0; k < count; ++k) times_s.push_back(middle * (1.0 + 0.01 * ((3 * k) % count - count / 2)));
  return times_s;
}

ExitCode code_of(const std::vector<double>& before, const std::vector<double>& after, int grid_count = 1) {
  return compare_results(runs_of(before, grid_count), runs_of(after, grid_count), 0.05).exit_code();
}

TEST(ResultCompareTest, ARegressionIsBeyondThresholdAndNoise) {
  for (const int count : {1, 5}) {
    EXPECT_EQ(code_of(times_around(1.0, count), times_around(2.0, count)), ExitCode::undecided) << count;
    EXPECT_EQ(code_of(times_around(1.0, count), times_around(1.0, count)), ExitCode::undecided) << count;
  }
  EXPECT_EQ(code_of(times_around(1.0, 9), times_around(1.1, 9)), ExitCode::regression);
  EXPECT_EQ(code_of(times_around(1.0, 9), times_around(1.02, 9)), ExitCode::success);
  EXPECT_EQ(code_of(times_around(1.0, 9), times_around(0.5, 9)), ExitCode::success);
  // In some rounds 10 % slower, in others 10 % faster.
  EXPECT_EQ(code_of(std::vector<double>(9, 1.0), {1.1, 0.9, 1.1, 0.9, 1.1, 0.9, 1.1, 0.9, 1.1}),
            ExitCode::undecided);
  // The change is about the threshold.
  EXPECT_EQ(code_of(times_around(1.0, 9), {1.05, 1.04, 1.06, 1.05, 1.04, 1.06, 1.05, 1.04, 1.06}),
            ExitCode::undecided);
}

TEST(ResultCompareTest, AUniformSlowdownIsFoundInThreeRoundsOfSeveralConfigurations) {
  const auto comparison =
      compare_results(runs_of(times_around(1.0, 3), 4), runs_of(times_around(1.2, 3), 4), 0.05);
  EXPECT_EQ(comparison.count(Change::regression), 0);
  EXPECT_EQ(comparison.exit_code(), ExitCode::regression);
  expect_in(comparison_text(comparison), "All together: B/A 1.200; REGRESSION: slower by 20 %");
  // One slow round is no slowdown, in however many configurations; two rounds are too few.
  EXPECT_EQ(code_of({1.0, 1.0, 1.0}, {1.2, 1.0, 1.2}, 8), ExitCode::undecided);
  EXPECT_EQ(code_of({1.0, 1.0}, {1.2, 1.2}, 8), ExitCode::undecided);
  const auto text = comparison_text(
      compare_results(runs_of(times_around(1.0, 2), 4), runs_of(times_around(1.2, 2), 4), 0.05));
  expect_in(text, "All together: B/A 1.200; not decided: 2 of at least 3 rounds\n");
}

TEST(ResultCompareTest, AFailureThatIsNewIsARegression) {
  const std::vector failed{failed_record_of(1, 1, "verification-failed")};
  EXPECT_EQ(compare_results(runs_of({1.0}), failed, 0.05).exit_code(), ExitCode::regression);
  EXPECT_EQ(compare_results(failed, runs_of({1.0}), 0.05).exit_code(), ExitCode::success);
  EXPECT_EQ(compare_results(failed, failed, 0.05).exit_code(), ExitCode::success);
  expect_in(comparison_text(compare_results(failed, failed, 0.05)), " failed in both\n");
}

TEST(ResultCompareTest, WhatOnlyOneHasIsNamed) {
  const auto comparison = compare_results({record_of(1, 2, 1.0), record_of(2, 1, 1.0)},
                                          {record_of(1, 2, 1.2), record_of(1, 3, 1.0)}, 0.05);
  const auto text = comparison_text(comparison);
  expect_in(text, "Only in A: S 2x1 ");
  expect_in(text, "Only in B: S 1x3 ");
  expect_in(text, "1.200 not decided: 1 of at least 8 rounds");
  expect_in(text, "0 regressions of 1 common configuration:");
}

TEST(ResultCompareTest, VerdictsSayThatRunsWereDisturbedAndSuggestNoMoreOfThem) {
  auto before = runs_of({1.0, 1.0});
  auto after = runs_of({1.2, 1.2});
  after.front().disturbance = "a compiler";
  auto text = comparison_text(compare_results(before, after, 0.05));
  expect_in(
      text,
      "not decided: 2 of at least 8 rounds (take 8 rounds); disturbed: 0 of 2 runs of A, 1 of 2 of B\n");
  for (auto* const set : {&before, &after}) {
    for (auto& record : *set) record.disturbance = "a compiler";
  }
  const auto comparison = compare_results(before, after, 0.05);
  EXPECT_FALSE(comparison.common.front().suggested_rounds.has_value());
  text = comparison_text(comparison);
  expect_in(text,
            "not decided: 2 of at least 8 rounds, too noisy to decide; disturbed: 2 of 2 runs of "
            "A, 2 of 2 of B\n");
}

TEST(ResultCompareTest, SetsAreToldApartByWhatDiffersAndByTheirNames) {
  auto before = runs_of(times_around(1.0, 9), 2);
  auto after = runs_of(times_around(0.5, 9), 2);
  for (auto& record : before) record.facts = {{"kernel", "symmetric-distinct"}, {"instruction set", "avx2"}};
  for (auto& record : after) record.facts = {{"kernel", "symmetric"}, {"instruction set", "avx2"}};
  after.back().facts.back().second = "portable";
  const auto text = comparison_text(compare_results(before, after, 0.05, {.before = "old", .after = "new"}));
  for (const std::string words :
       {"\nDiffers: kernel: symmetric-distinct in old, symmetric in new\n",
        "\nDiffers: instruction set: avx2 in old, avx2, portable in new\n",
        " old seconds old spread old runs new seconds new spread new runs new/old\n",
        " 0.500 faster: time -50 % ", "\nnew/old: median of the rounds of new by those of old, "})
    expect_in(text, words);
  EXPECT_EQ(comparison_text(compare_results(before, before, 0.05)).find("Differs"), std::string::npos);
  const auto json = nlohmann::json::parse(document_text(compare_results(before, after, 0.05)));
  EXPECT_EQ(json.at("labels").at("before"), "A");
  EXPECT_EQ(json.at("compared").at(0).at("differences").size(), 1U);
}

TEST(ResultCompareTest, Percentages) {
  for (const std::string text : {"5%", "5 %", "5", "5.0%"})
    EXPECT_DOUBLE_EQ(percentage_from(text).value(), 0.05);
  for (const std::string text : {"", "%", "five", "-1%", "nan", "5%%"})
    EXPECT_FALSE(percentage_from(text)) << text;
}

TEST(ResultExportTest, ExtraPGetsALinePerMeasuredValue) {
  auto timed = record_of(2, 1, 1.5);
  timed.work.emplace();
  for (const auto phase : benchmark_phases)
    timed.work->phases[index_of(phase)].measured_s = 0.1 * static_cast<double>(index_of(phase) + 1);
  std::istringstream lines(extra_p_lines({timed, failed_record_of(1, 2, "unavailable")}));
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(all.size(), 1 + benchmark_phase_count);
  const nlohmann::json parameters{{"p", 2}, {"px", 2}};
  EXPECT_EQ(all[0], (nlohmann::json{
                        {"params", parameters}, {"callpath", "total"}, {"metric", "time"}, {"value", 1.5}}));
  EXPECT_EQ(
      all[2],
      (nlohmann::json{{"params", parameters}, {"callpath", "multiply"}, {"metric", "time"}, {"value", 0.2}}));
}

TEST(ResultExportTest, WhatVariesTellsMeasurementsApart) {
  const auto lines_with = [](auto change) {
    auto other = record_of(2, 1, 2.0);
    auto repeated = record_of(2, 1, 9.0);
    repeated.is_replaced = true;
    change(other);
    return extra_p_lines({record_of(2, 1, 1.0), other, repeated});
  };
  auto lines = lines_with([](auto& other) {
    other.asked.configuration.kernel = "sell";
    other.n = 7000;
  });
  expect_in(lines, R"({"p":2,"px":2,"n":7000},"callpath":"sell->total")");
  EXPECT_EQ(lines.find("9.0"), std::string::npos) << "a run that was repeated";
  lines = lines_with([](auto& other) {
    other.asked.configuration.sum_form = comm::SumForm::whole_block;
    other.asked.configuration.thread_count = 2;
    other.asked.configuration.overlaps = true;
  });
  expect_in(lines, R"({"p":2,"px":2,"threads":2},"callpath":"whole-block->overlap->total")");
  lines = lines_with([](auto& other) { other.asked.storage = "streamed"; });
  expect_in(lines, R"("callpath":"streamed->total")");
  expect_in(lines, R"("callpath":"in memory->total")");
  lines = lines_with([](auto& other) { other.asked.form = "domain 1x1x2"; });
  expect_in(lines, R"("callpath":"domain->total")");
  lines = lines_with([](auto& other) { other.asked.problem = "S with 60 iterations"; });
  expect_in(lines, R"("callpath":"S with 60 iterations->total")");
  expect_in(lines, R"("callpath":"S->total")");
}

TEST(ResultExportTest, CsvHasALinePerRun) {
  auto odd = failed_record_of(2, 1, "unavailable");
  odd.asked.problem = "U(n 5, nonzer 1)";
  odd.kernel_used = "of \"others\", foreign";
  auto again = record_of(1, 2, 1.5);
  again.attempt = 2;
  again.disturbance = "a compiler";
  const auto text = csv_lines({again, odd});
  expect_in(
      text,
      "\nS,1400,2,1,2,,,auto,sell,two-sided,1,reduce-scatter,off,even,off,1,success,1.5,,,,,,,,2,yes,1\n");
  expect_in(
      text,
      "\n\"U(n 5, nonzer 1)\",1400,2,2,1,,,auto,\"of \"\"others\"\", foreign\",two-sided,1,reduce-scatter,"
      "off,even,off,1,unavailable,,,,,,,,,1,no,\n");
}

TEST(ResultExportTest, ARepetitionThatWasDisturbedIsOneOfItsRun) {
  auto run = record_of(1, 2, 1.0);
  run.times_s = {1.0, 1.25, 1.0};
  run.were_disturbed = {false, true, false};
  run.disturbance = "1 of 3 repetitions, the first of them: a compiler";
  const auto counted = measured_configurations({run}).front().disturbed_runs();
  EXPECT_EQ(counted.count, 1);
  EXPECT_EQ(counted.of, 3);
  auto domain = run;
  domain.asked.form = "domain 1x1x2";
  domain.asked.storage = "streamed";
  const auto text = csv_lines({run, domain});
  expect_in(text, ",1,no,1\n");
  expect_in(text, ",1,yes,2\n");
  expect_in(text, ",1,no,3\n");
  expect_in(text, "\nS,1400,2,1,2,domain 1x1x2,streamed,auto,");
}

TEST(ResultReaderTest, AnAttemptReplacesThoseOfItsSession) {
  auto again = record_of(1, 2, 1.5);
  again.attempt = 2;
  auto of_another = record_of(1, 2, 2.0);
  of_another.session = "another";
  std::vector<ResultRecord> records{record_of(1, 2, 1.0), again, of_another};
  mark_replaced(records);
  EXPECT_TRUE(records[0].is_replaced);
  EXPECT_FALSE(records[1].is_replaced);
  EXPECT_FALSE(records[2].is_replaced);
}

TEST(ResultCompareTest, OtherFiguresAreShownWhereTheyDiffer) {
  const ShownFigure peak{
      .path = {"peak_bytes"}, .label = "Peak memory", .unit = "B", .is_metric = true, .column = "peak_bytes"};
  auto before = runs_of({1.0});
  auto after = before;
  before.front().metrics = {{&peak, 1e6}};
  after.front().metrics = {{&peak, 1.5e6}};
  auto comparison = compare_results(before, after, 0.05);
  expect_in(comparison_text(comparison), "Differs: Peak memory: 1 MB in A, 1.5 MB in B\n");
  const auto figures = nlohmann::json::parse(document_text(comparison)).at("compared").at(0).at("figures");
  EXPECT_EQ(figures.dump(), R"([{"after":1500000.0,"before":1000000.0,"name":"peak_bytes","unit":"B"}])");
  EXPECT_EQ(comparison.exit_code(), ExitCode::undecided) << "no verdict depends on them";
  expect_in(csv_lines(before), ",disturbed,repeat,peak_bytes\n");
  expect_in(csv_lines(before), ",1,1000000\n");
  comparison = compare_results(before, before, 0.05);
  EXPECT_EQ(comparison_text(comparison).find("Peak memory"), std::string::npos);
}

// Why a grid is slower.

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
  records.back().maker = "another machine";
  EXPECT_TRUE(differences_of(records).front().events.empty());
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
}  // namespace cg2d::run_verdict_test
