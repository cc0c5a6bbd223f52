// The criterion of a regression, and the exported columns.

#include "cg/report/run_verdict.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cg/report/result_reader.hpp"
#include "support/result_records.hpp"
#include "support/shown_text.hpp"

namespace cg2d::result_compare_test {
namespace {

using test::expect_in;
using test::failed_record_of;
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
      "\nS,1400,2,1,2,auto,sell,two-sided,1,reduce-scatter,off,even,off,1,success,1.5,,,,,,,,2,yes,1\n");
  expect_in(
      text,
      "\n\"U(n 5, nonzer 1)\",1400,2,2,1,auto,\"of \"\"others\"\", foreign\",two-sided,1,reduce-scatter,"
      "off,even,off,1,unavailable,,,,,,,,,1,no,\n");
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

}  // namespace
}  // namespace cg2d::result_compare_test
