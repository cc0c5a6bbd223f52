// The paper's table: medians, spread, marks, verdicts and failures.

#include "cg/sweep_table.hpp"

#include <gtest/gtest.h>

#include <string>

#include "result_records.hpp"

namespace cg2d {
namespace {

using test::failed_record_of;
using test::record_of;

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in\n" << text;
}

TEST(SweepTableTest, MarksBestAndOfficialAndNamesTheCost) {
  const auto text =
      sweep_tables({record_of(1, 2, 1.0), record_of(2, 1, 1.2, 1), record_of(1, 2, 1.1, 2),
                    record_of(2, 1, 1.3, 2), record_of(1, 2, 0.9, 3), record_of(2, 1, 1.25, 3)});
  expect_in(text, "Class S, kernel auto (sell), transport two-sided, 1 thread per rank");
  expect_in(text, "1*   20%");
  expect_in(text, "1.25o    8%");
  expect_in(text, "P = 2: best is 1x2 with 1 s; the official 2x1 costs 25.0 % more.");
}

TEST(SweepTableTest, TheOfficialGridMayBeTheBest) {
  const auto text = sweep_tables({record_of(1, 4, 2.0), record_of(2, 2, 1.0), record_of(4, 1, 3.0)});
  expect_in(text, "1*o   0%");
  expect_in(text, "P = 4: best is 2x2 with 1 s; that is the official grid, too.");
}

TEST(SweepTableTest, RanksThatAreNoPowerOfTwoHaveNoOfficialGrid) {
  expect_in(sweep_tables({record_of(1, 3, 1.0), record_of(3, 1, 2.0)}), "no official grid");
}

TEST(SweepTableTest, AnOfficialGridThatIsMissingIsSaidToBe) {
  expect_in(sweep_tables({record_of(1, 2, 1.0)}), "the official 2x1 was not measured.");
}

TEST(SweepTableTest, FailuresAreShownAndNeverBest) {
  const auto text = sweep_tables(
      {record_of(1, 2, 1.0), failed_record_of(2, 1, "verification-failed"), record_of(2, 1, 0.5, 2)});
  expect_in(text, "failedo");
  expect_in(text, "P = 2: best is 1x2 with 1 s; the official 2x1 failed.");
  expect_in(text, "Failed: 2x1, 1 of 2 runs: verification-failed: for a reason");
  expect_in(sweep_tables({failed_record_of(1, 1, "unavailable")}), "P = 1: no grid succeeded.");
}

TEST(SweepTableTest, PredictionsGetATableOfTheirOwn) {
  auto predicted = record_of(1, 2, 1.0);
  EXPECT_EQ(sweep_tables({predicted}).find("Predicted"), std::string::npos);
  predicted.predicted_s = 1.375;
  expect_in(sweep_tables({predicted}), "Predicted seconds");
  expect_in(sweep_tables({predicted}), "1.375");
}

TEST(SweepTableTest, EveryKernelHasATable) {
  auto other = record_of(1, 2, 2.0);
  other.configuration.kernel = "scalar";
  const auto text = sweep_tables({record_of(1, 2, 1.0), other});
  expect_in(text, "kernel auto (sell)");
  expect_in(text, "kernel scalar,");
}

TEST(SweepTableTest, NothingIsNoTable) { EXPECT_EQ(sweep_tables({}), "No results.\n"); }

}  // namespace
}  // namespace cg2d
