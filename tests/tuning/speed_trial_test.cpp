// --cut speed: speeds from the profile, which is kept for the same places only, and what follows from speeds.

#include "cg/tuning/trial.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/mpi_test.hpp"

namespace cg2d::speed_trial_test {
namespace {

using test::group;

/// A work on a line of ranks, each on a processor of its own.
class SpeedChoiceTest : public ::testing::Test {
 protected:
  SpeedChoiceTest() : environment_(inspect_environment(group(), 1)) {
    for (int rank = 0; rank < group().size(); ++rank) binding_.ranks.push_back({std::to_string(rank)});
    configuration_.grid = {.columns = 1, .rows = group().size()};
    configuration_.kernel = chosen_.kernel->name;
  }

  SpeedTrialConfig work(double slowness) const {
    return {.matrix = matrix_, .configuration = configuration_, .chosen = chosen_, .slowness = slowness};
  }

  SpeedTrial choose(const LoadedProfile& profile, const ProfileSource& source, double slowness = 1.0) {
    return choose_speeds(group(), {.trial = work(slowness),
                                   .environment = environment_,
                                   .binding = binding_,
                                   .profile = profile,
                                   .profile_source = source});
  }

  /// Rank k is k + 1 times as fast as rank 0.
  LoadedProfile example() const {
    SpeedCase known{.matrix = matrix_.key, .configuration = configuration_};
    const double sum = 0.5 * group().size() * (group().size() + 1);
    double speed = 0.0;
    for (const auto& place : places_of(environment_, binding_)) {
      speed += 1.0;
      known.ranks.push_back({.place = place,
                             .nonzeros_per_s = 1e9 * speed,
                             .share = speed / sum,
                             .rank_here = static_cast<int>(std::ssize(known.ranks))});
    }
    return {.processor = {.speeds = {known}}, .path = "somewhere", .absence = ""};
  }

  MatrixFacts matrix_ = facts_of(*find_class("S"));
  Configuration configuration_;
  ChosenKernel chosen_;
  Environment environment_;
  BindingResult binding_;
};

TEST_F(SpeedChoiceTest, KnownSpeedsAreNotMeasured) {
  const auto trial = choose(example(), {});
  EXPECT_TRUE(trial.from_profile);
  EXPECT_EQ(trial.kept_in, "somewhere");
  EXPECT_EQ(trial.round_count, 0);
  EXPECT_EQ(trial.grid, configuration_.grid);
  EXPECT_EQ(trial.speeds.back(), 1e9 * group().size());
  EXPECT_NEAR(trial.reachable / trial.ideal, 1.0, 1e-12) << "a line of ranks with shares by their speeds";
  EXPECT_NEAR(trial.even, 1e9 * group().size(), 1.0) << "all wait for rank 0";
}

TEST_F(SpeedChoiceTest, OtherPlacesAndRanksThatAreSlowOnPurposeAreMeasured) {
  EXPECT_EQ(choose(example(), {}, group().rank() == 0 ? 2.0 : 1.0).not_kept_because,
            "ranks are slowed on purpose");
  const auto profile = example();
  binding_.ranks.back() = {"77"};
  const auto trial = choose(profile, {.is_used = false, .path = {}});
  EXPECT_FALSE(trial.from_profile);
  EXPECT_EQ(trial.not_kept_because, "--no-profile");
  EXPECT_GT(trial.duration_s, 0.0);
  for (const double speed : trial.speeds) EXPECT_GT(speed, 0.0);
}

TEST_F(SpeedChoiceTest, MeasuresAgainWhereBlocksOfTheSharesHaveAnotherShapeOnly) {
  const double slowness = group().rank() == 0 ? 4.0 : 1.0;
  const bool are_several = group().size() > 1;
  // All of a block is timed, and its rows become fewer or more.
  EXPECT_EQ(measure_speeds(group(), work(slowness)).round_count > 1, are_several);
  // As many of its first rows are timed before as after.
  matrix_ = facts_of(*find_class("C"));
  const auto trial = measure_speeds(group(), work(slowness));
  EXPECT_EQ(trial.round_count, 1);
  EXPECT_EQ(trial.reachable > trial.even, are_several);
}

TEST_F(SpeedChoiceTest, APlaceHasItsHostAndItsProcessors) {
  binding_.ranks.front() = {"0", "1"};
  EXPECT_EQ(places_of(environment_, binding_).front(), environment_.nodes.front().host + " 0 1");
  binding_.ranks.front() = {"0-3", "0-3"};
  EXPECT_EQ(places_of(environment_, binding_).front(), environment_.nodes.front().host + " 0-3");
}

TEST(OwnSlownessTest, IsThatOfTheRankWithoutWhatWasOnPurpose) {
  const std::vector<double> speeds{2.0, 0.5, 1.0};
  const std::vector<double> factors{1.0, 4.0, 1.0};
  EXPECT_EQ(own_slowness(speeds, factors), (std::vector<double>{0.75, 0.75, 1.5}));
}

}  // namespace
}  // namespace cg2d::speed_trial_test
