// Measurements are taken again, then refused. Results are made up; only those of `keeps_disturbed` do not
// depend on how busy the tests' machine is.

#include "cg/tuning/trial.hpp"

#include <gtest/gtest.h>

#include "support/mpi_test.hpp"

namespace cg2d::retried_measurement_test {
namespace {

class RetriedMeasurementTest : public testing::Test {
 protected:
  /// Repeats spread so far. good_from: the number of the first measurement that makes sense. Returns the refusal.
  std::string measure(bool keeps_disturbed, int good_from, double spread = 0.0) {
    count_ = lines_ = 0;
    return measure_with_retries(test::group(), {.name = "made-up numbers",
                                                .environment = environment_,
                                                .keeps_disturbed = keeps_disturbed,
                                                .say = [this](const std::string&) { ++lines_; },
                                                .record = record_,
                                                .measure = [&]() -> std::string {
                                                  record_ = {.spread = spread};
                                                  return ++count_ < good_from ? "a rate is negative" : "";
                                                }});
  }

  Environment environment_ = inspect_environment(test::group(), 1);
  MeasurementRecord record_;
  int count_ = 0;
  int lines_ = 0;
};

TEST_F(RetriedMeasurementTest, IsTakenAgainUntilItMakesSense) {
  EXPECT_EQ(measure(true, 3), "");
  EXPECT_EQ(count_, 3);
  EXPECT_EQ(record_.attempts, 3);
  EXPECT_EQ(lines_, 2) << "each repetition is said, with its reason";
  EXPECT_FALSE(record_.date.empty());
}

TEST_F(RetriedMeasurementTest, WhatMakesNoSenseIsRefusedWhateverTheUserKeepsAndWhatWasDisturbedToo) {
  for (const bool keeps_disturbed : {true, false}) {
    const auto senseless = measure(keeps_disturbed, 99, 0.9);
    EXPECT_TRUE(senseless.starts_with("measured 3 times, and refused: a rate is negative;")) << senseless;
    EXPECT_EQ(senseless.find("--keep-disturbed"), std::string::npos) << "that would not help";
  }
  const auto disturbed = measure(false, 0, 0.9);
  EXPECT_EQ(record_.attempts, 3);
  EXPECT_TRUE(disturbed.starts_with("measured 3 times, and refused: " + record_.disturbance + ";"));
  EXPECT_NE(disturbed.find("--keep-disturbed"), std::string::npos);
  EXPECT_EQ(measure(true, 0, 0.9), "");
  EXPECT_EQ(record_.attempts, 1);
  EXPECT_FALSE(record_.disturbance.empty());
}

// Ranks may differ in the last bits of their results; if each went by its own, some would wait for ever.
TEST_F(RetriedMeasurementTest, RanksGoByRank0) {
  const bool is_first = test::group().rank() == 0;
  EXPECT_EQ(measure(true, is_first ? 2 : 99), "");
  EXPECT_EQ(record_.attempts, 2);
}

TEST_F(RetriedMeasurementTest, SpreadIsThatOfTheWorstRank) {
  const bool is_last = test::group().rank() == test::group().size() - 1;
  EXPECT_EQ(measure(true, 0, is_last ? 0.9 : 0.1), "");
  EXPECT_EQ(record_.spread, 0.9);
  EXPECT_NE(record_.disturbance.find("quartiles lie 90 % apart"), std::string::npos) << record_.disturbance;
}

TEST_F(RetriedMeasurementTest, AnOldResultIsNamedWithWhatForgetsIt) {
  KeptResult kept;
  kept.measured.date = "2020-01-02T03:04:05Z";
  kept.kept_in = "p.json";
  MatrixFacts matrix;
  matrix.key.name = "S";
  const auto said = [&](const ProfileSource& source) {
    return warnings_of(kept, "the trial of transports", source, matrix).at(0);
  };
  EXPECT_NE(said({}).find("after cg2d tune --remove S, which forgets"), std::string::npos);
  EXPECT_NE(said({.path = "p.json"}).find("--remove S --profile p.json, which forgets"), std::string::npos);
}

}  // namespace
}  // namespace cg2d::retried_measurement_test
