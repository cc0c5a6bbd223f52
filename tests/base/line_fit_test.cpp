// Measured times: the line through them, and their spread; the measurements themselves are in model_test.py.

#include <gtest/gtest.h>

#include "cg/base/sample.hpp"

namespace cg2d::line_fit_test {
namespace {

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
}  // namespace cg2d::line_fit_test
