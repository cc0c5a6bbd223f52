// Measurements are taken again, then refused. Results are made up; only those of `keeps_disturbed` do not
// depend on how busy the tests' machine is.

#include "cg/tuning/trial.hpp"

#include <gtest/gtest.h>

#include "cg/base/errors.hpp"
#include "support/error_of.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::retried_measurement_test {
namespace {

struct MadeUp {
  int number = 0;
  MeasurementRecord record{};
};

class RetriedMeasurementTest : public testing::Test {
 protected:
  /// The number of measurements is the result's; good_from: the first number that makes sense.
  MadeUp measure(bool keeps_disturbed, int good_from, double spread = 0.0) {
    MadeUp result;
    const auto fault = [&] { return std::string(result.number < good_from ? "a rate is negative" : ""); };
    measure_or_refuse(test::group(), made_up(result, keeps_disturbed, spread, fault));
    return result;
  }
  RetriedMeasurement made_up(MadeUp& result, bool keeps_disturbed, double spread,
                             std::function<std::string()> fault) {
    const auto measure = [this, &result, spread] {
      result = {.number = ++count_, .record = {.spread = spread}};
    };
    return {.name = "made-up numbers",
            .environment = environment_,
            .keeps_disturbed = keeps_disturbed,
            .say = say_,
            .record = result.record,
            .measure = measure,
            .why_unphysical = std::move(fault),
            .show = [this, &result] { shown_ = result.number; }};
  }
  /// Code and message of a refusal.
  void expect_refusal(bool keeps_disturbed, int good_from, double spread, const std::string& words) {
    count_ = 0;
    shown_ = 0;
    const auto message = test::error_of(
        ExitCode::try_again, [&] { static_cast<void>(measure(keeps_disturbed, good_from, spread)); });
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_EQ(count_, 3);
    EXPECT_EQ(shown_, 3) << "what was measured last is shown all the same";
  }

  Environment environment_ = inspect_environment(test::group(), 1);
  int count_ = 0;
  int lines_ = 0;
  int shown_ = 0;
  std::function<void(const std::string&)> say_ = [this](const std::string&) { ++lines_; };
};

TEST_F(RetriedMeasurementTest, IsTakenAgainUntilItMakesSense) {
  const auto measured = measure(true, 3);
  EXPECT_EQ(measured.number, 3);
  EXPECT_EQ(shown_, 0);
  EXPECT_EQ(measured.record.attempts, 3);
  EXPECT_EQ(lines_, 2) << "each repetition is said, with its reason";
  EXPECT_FALSE(measured.record.date.empty());
}

TEST_F(RetriedMeasurementTest, WhatMakesNoSenseIsRefusedWhateverTheUserKeepsAndWhatWasDisturbedToo) {
  expect_refusal(true, 99, 0.0, "a rate is negative");
  expect_refusal(false, 99, 0.0, "a rate is negative");
  expect_refusal(false, 0, 0.9, "--keep-disturbed");
}

TEST_F(RetriedMeasurementTest, AMeasurementWithoutWhichThereIsAWayIsReturnedWithItsRefusal) {
  MadeUp result;
  const auto measure = [&](bool keeps_disturbed, const std::string& fault) {
    return measure_with_retries(test::group(), made_up(result, keeps_disturbed, 0.9, [&] { return fault; }));
  };
  const auto disturbed = measure(false, "");
  EXPECT_EQ(result.number, 3) << "the last one";
  EXPECT_EQ(result.record.attempts, 3);
  EXPECT_TRUE(disturbed.starts_with("measured 3 times, and refused: " + result.record.disturbance + ";"));
  EXPECT_NE(disturbed.find("--keep-disturbed"), std::string::npos);
  EXPECT_EQ(measure(true, ""), "");
  EXPECT_EQ(result.record.attempts, 1);
  EXPECT_FALSE(result.record.disturbance.empty());
  const auto senseless = measure(true, "a rate is negative");
  EXPECT_TRUE(senseless.starts_with("measured 3 times, and refused: a rate is negative;")) << senseless;
  EXPECT_EQ(senseless.find("--keep-disturbed"), std::string::npos) << "that would not help";
}

// Ranks may differ in the last bits of their results; if each went by its own, some would wait for ever.
TEST_F(RetriedMeasurementTest, RanksGoByRank0) {
  const bool is_first = test::group().rank() == 0;
  EXPECT_EQ(measure(true, is_first ? 2 : 99).record.attempts, 2);
}

TEST_F(RetriedMeasurementTest, SpreadIsThatOfTheWorstRank) {
  const bool is_last = test::group().rank() == test::group().size() - 1;
  const auto record = measure(true, 0, is_last ? 0.9 : 0.1).record;
  EXPECT_EQ(record.spread, 0.9);
  EXPECT_NE(record.disturbance.find("quartiles lie 90 % apart"), std::string::npos) << record.disturbance;
}

}  // namespace
}  // namespace cg2d::retried_measurement_test
