// The criterion of a regression, and the exported columns.

#include "cg/report/result_compare.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cg/report/result_export.hpp"
#include "support/result_records.hpp"

namespace cg2d {
namespace {

using test::failed_record_of;
using test::record_of;

/// Runs on 1x2 that took these times.
std::vector<ResultRecord> runs_of(const std::vector<double>& times_s) {
  std::vector<ResultRecord> records;
  for (const double time_s : times_s) records.push_back(record_of(1, 2, time_s));
  return records;
}

int regressions(const std::vector<double>& before, const std::vector<double>& after) {
  return compare_results(runs_of(before), runs_of(after), 0.05).regression_count();
}

TEST(ResultCompareTest, ARegressionIsBeyondThresholdAndSpread) {
  EXPECT_EQ(regressions({1.0}, {1.04}), 0);
  EXPECT_EQ(regressions({1.0}, {1.06}), 1);
  EXPECT_EQ(regressions({1.0}, {0.5}), 0);
  EXPECT_EQ(regressions({0.99, 1.0, 1.01}, {1.08, 1.1, 1.12}), 1);
  EXPECT_EQ(regressions({0.9, 1.0, 1.2}, {1.08, 1.1, 1.12}), 0);   // before was as slow once
  EXPECT_EQ(regressions({1.0, 1.0, 1.0}, {1.01, 1.02, 1.03}), 0);  // beyond the spread, below the threshold
}

TEST(ResultCompareTest, AFailureThatIsNewIsARegression) {
  const std::vector failed{failed_record_of(1, 2, "verification-failed")};
  EXPECT_EQ(compare_results(runs_of({1.0}), failed, 0.05).regression_count(), 1);
  EXPECT_EQ(compare_results(failed, runs_of({1.0}), 0.05).regression_count(), 0);
  EXPECT_EQ(compare_results(failed, failed, 0.05).regression_count(), 0);
}

TEST(ResultCompareTest, WhatOnlyOneHasIsNamed) {
  const auto comparison = compare_results({record_of(1, 2, 1.0), record_of(2, 1, 1.0)},
                                          {record_of(1, 2, 1.2), record_of(1, 3, 1.0)}, 0.05);
  const auto text = comparison_text(comparison, 0.05);
  EXPECT_NE(text.find("Only in A: S 2x1 "), std::string::npos) << text;
  EXPECT_NE(text.find("Only in B: S 1x3 "), std::string::npos) << text;
  EXPECT_NE(text.find("1.200 REGRESSION"), std::string::npos) << text;
  EXPECT_NE(text.find("1 regression of 1 common configuration:"), std::string::npos) << text;
}

TEST(ResultCompareTest, Percentages) {
  for (const std::string text : {"5%", "5 %", "5", "5.0%"})
    EXPECT_DOUBLE_EQ(percentage_from(text).value(), 0.05);
  for (const std::string text : {"", "%", "five", "-1%", "nan", "5%%"})
    EXPECT_FALSE(percentage_from(text)) << text;
}

TEST(ResultExportTest, ExtraPGetsALinePerMeasuredValue) {
  auto timed = record_of(2, 1, 1.5);
  timed.phases_s = std::array<double, phase_count>{0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
  std::istringstream lines(extra_p_lines({timed, failed_record_of(1, 2, "unavailable")}));
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(all.size(), 1 + phase_count);
  const nlohmann::json parameters{{"p", 2}, {"px", 2}};
  EXPECT_EQ(all[0], (nlohmann::json{
                        {"params", parameters}, {"callpath", "total"}, {"metric", "time"}, {"value", 1.5}}));
  EXPECT_EQ(
      all[2],
      (nlohmann::json{{"params", parameters}, {"callpath", "multiply"}, {"metric", "time"}, {"value", 0.2}}));
}

TEST(ResultExportTest, ExtraPGetsNoRunThatWasRepeated) {
  auto replaced = record_of(1, 2, 9.0);
  replaced.is_replaced = true;
  const auto text = extra_p_lines({replaced, record_of(1, 2, 1.0)});
  EXPECT_EQ(text, extra_p_lines({record_of(1, 2, 1.0)}));
}

TEST(ResultExportTest, WhatVariesTellsMeasurementsApart) {
  auto other = record_of(2, 1, 2.0);
  other.asked.configuration.kernel = "sell";
  other.n = 7000;
  auto lines = extra_p_lines({record_of(2, 1, 1.0), other});
  EXPECT_NE(lines.find(R"({"p":2,"px":2,"n":7000},"callpath":"sell->total")"), std::string::npos) << lines;
  other = record_of(2, 1, 2.0);
  other.asked.configuration.sum_form = comm::SumForm::whole_block;
  lines = extra_p_lines({record_of(2, 1, 1.0), other});
  EXPECT_NE(lines.find(R"("callpath":"whole-block->total")"), std::string::npos) << lines;
}

TEST(ResultExportTest, AxesThatAreNumbersOrFlagsAreNamed) {
  auto other = record_of(2, 1, 2.0);
  other.asked.configuration.thread_count = 2;
  other.asked.configuration.overlaps = true;
  const auto lines = extra_p_lines({record_of(2, 1, 1.0), other});
  EXPECT_NE(lines.find(R"({"p":2,"px":2,"threads":1},"callpath":"no overlap->total")"), std::string::npos)
      << lines;
  EXPECT_NE(lines.find(R"({"p":2,"px":2,"threads":2},"callpath":"overlap->total")"), std::string::npos)
      << lines;
}

TEST(ResultExportTest, CsvHasALinePerRun) {
  auto odd = failed_record_of(2, 1, "unavailable");
  odd.asked.problem = "U(n 5, nonzer 1)";
  auto again = record_of(1, 2, 1.5);
  again.attempt = 2;
  again.disturbance = "a compiler";
  const auto text = csv_lines({again, odd});
  EXPECT_NE(text.find("\nS,1400,2,1,2,auto,sell,two-sided,1,reduce-scatter,off,1,success,1.5,,,,,,,,2,yes\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("\n\"U(n 5, nonzer "
                "1)\",1400,2,2,1,auto,sell,two-sided,1,reduce-scatter,off,1,unavailable,,,,,,,,,1,no\n"),
      std::string::npos)
      << text;
}

}  // namespace
}  // namespace cg2d
