// The iterations that are left, by the slope of the residuals: for the lines of --progress.

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "cg/run/solve/solve_run.hpp"

namespace cg2d::residual_slope_test {
namespace {

std::optional<double> steps_left(double target, const std::vector<double>& norms) {
  ResidualSlope slope;
  for (const double norm : norms) slope.note(norm / target);
  return slope.steps_left();
}

TEST(ResidualSlopeTest, StepsThatGainTheSameFactorGoOn) {
  // Half of the residual is lost in each step: 2^-5 is reached five steps after 1. 4.5 such steps are five.
  EXPECT_EQ(steps_left(std::exp2(-5.0), {8.0, 4.0, 2.0, 1.0}), 5.0);
  EXPECT_EQ(steps_left(std::exp2(-4.5), {8.0, 4.0, 2.0, 1.0}), 5.0);
}

TEST(ResidualSlopeTest, OnlyTheSecondHalfOfTheStepsCounts) {
  // The steps from the fourth on halve the residual; the first ones gained nothing.
  EXPECT_EQ(steps_left(std::exp2(-4.0), {8.0, 8.0, 8.0, 8.0, 4.0, 2.0, 1.0}), 4.0);
}

TEST(ResidualSlopeTest, TheSmallestResidualCountsNotTheLast) {
  EXPECT_EQ(steps_left(0.25, {8.0, 4.0, 2.0, 1.0, 100.0}), steps_left(0.25, {8.0, 4.0, 2.0, 1.0, 1.0}));
}

TEST(ResidualSlopeTest, AReachedTargetLeavesNothing) {
  EXPECT_EQ(steps_left(2.0, {8.0, 4.0, 2.0, 1.0}), 0.0);
}

TEST(ResidualSlopeTest, ThereIsNoNumberWithoutASlope) {
  EXPECT_EQ(steps_left(1e-3, {4.0, 2.0, 1.0}), std::nullopt) << "too few steps";
  EXPECT_EQ(steps_left(1e-3, {1.0, 1.0, 2.0, 3.0, 4.0}), std::nullopt) << "no step gains";
  EXPECT_EQ(steps_left(0.0, {8.0, 4.0, 2.0, 1.0}), std::nullopt) << "nothing reaches 0";
  EXPECT_EQ(steps_left(1e-3, {8.0, 4.0, 2.0, 0.0}), std::nullopt) << "the logarithm of 0";
}

}  // namespace
}  // namespace cg2d::residual_slope_test
