// The runs of a sweep and their order.

#include "cg/studies/sweep.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"

namespace cg2d::sweep_plan_test {
namespace {

std::vector<Problem> problems_of(const std::vector<std::string>& letters) {
  std::vector<Problem> problems;
  for (const auto& letter : letters) problems.push_back(*find_class(letter));
  return problems;
}

SweepAxes axes_of(std::vector<int> rank_counts, std::vector<comm::ProcessGrid> grids = {}) {
  return {.problems = problems_of({"S"}),
          .rank_counts = std::move(rank_counts),
          .columns = {},
          .named = {.grids = std::move(grids)},
          .values = {}};
}

/// Of the benchmark.
std::vector<ConfiguredProblem> configurations_of(const SweepAxes& axes, const Configuration& common = {}) {
  return cg2d::configurations_of(axes, forms_of(axes.problems, common));
}

std::vector<std::string> grids_of(const SweepAxes& axes) {
  std::vector<std::string> names;
  for (const auto& asked : configurations_of(axes)) names.push_back(asked.configuration.grid.name());
  return names;
}

constexpr comm::ProcessGrid tall_pair{.columns = 1, .rows = 2};

TEST(SweepPlanTest, TakesEveryFactorizationOfEveryRankCountOrWhatIsAskedFor) {
  EXPECT_EQ(grids_of(axes_of({1, 6})), (std::vector<std::string>{"1x1", "1x6", "2x3", "3x2", "6x1"}));
  auto axes = axes_of({2, 4});
  axes.columns = {1, 4};
  const std::vector<std::string> narrow_and_flat{"1x2", "1x4", "4x1"};
  EXPECT_EQ(grids_of(axes), narrow_and_flat);
  EXPECT_EQ(grids_of(axes_of({2, 4}, {tall_pair, {.columns = 1, .rows = 4}, {.columns = 4, .rows = 1}})),
            narrow_and_flat);
  EXPECT_THROW(static_cast<void>(configurations_of(axes_of({3, 4}, {{.columns = 2, .rows = 2}}))),
               InputError);
}

TEST(SweepPlanTest, CrossesAllListsOnce) {
  auto axes = axes_of({4, 4});
  axes.problems = problems_of({"S", "W", "S"});
  axes.values = {{"kernel", {"auto", "sell"}},
                 {"threads", {"1", "2", "1"}},
                 {"sum_form", {"reduce-scatter", "whole-block"}}};
  const auto configurations = configurations_of(axes);
  EXPECT_EQ(configurations.size(), 2U * 3U * 2U * 2U * 2U);
  std::set<std::string> keys;
  for (const auto& configuration : configurations) keys.insert(configuration.key());
  EXPECT_EQ(keys.size(), configurations.size());
}

TEST(SweepPlanTest, CrossesATransportOnlyWithTheFormsOfTheSumThatItHas) {
  auto axes = axes_of({2}, {tall_pair});
  axes.values = {{"transport", {"two-sided", "shared", "auto"}},
                 {"sum_form", {"whole-block", "reduce-scatter"}}};
  std::set<std::string> found;
  for (const auto& one : configurations_of(axes))
    found.insert(one.configuration.transport + " " + sum_form_name(one.configuration.sum_form));
  EXPECT_EQ(found,
            (std::set<std::string>{"two-sided whole-block", "two-sided reduce-scatter",
                                   "shared reduce-scatter", "auto whole-block", "auto reduce-scatter"}));
}

TEST(SweepPlanTest, AnAxisWithoutValuesIsThatOfAllRuns) {
  auto axes = axes_of({2}, {tall_pair});
  axes.values = {{"kernel", {"sell"}}};
  const auto all = configurations_of(axes, {.thread_count = 3, .overlaps = true});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().key(), "S 1x2 sell two-sided 3 threads overlap");
}

TEST(SweepPlanTest, RoundsForVerdictsAreThoseOfTheLargestQuestion) {
  EXPECT_EQ(rounds_for_verdicts(configurations_of(axes_of({1}))), rounds_for_verdict(1));
  // Two questions of two and three grids.
  EXPECT_EQ(rounds_for_verdicts(configurations_of(axes_of({2, 4}))), rounds_for_verdict(3));
  auto axes = axes_of({2});
  axes.values = {{"kernel", {"scalar", "sell"}}};
  EXPECT_EQ(rounds_for_verdicts(configurations_of(axes)), rounds_for_verdict(4))
      << "all of one number of ranks";
  axes.values = {{"threads", {"1", "2"}}};
  EXPECT_EQ(rounds_for_verdicts(configurations_of(axes)), rounds_for_verdict(2)) << "no verdict over threads";
}

TEST(SweepPlanTest, RoundsAreInterleaved) {
  const auto configurations = configurations_of(axes_of({2}));
  std::vector<std::string> order;
  for (const auto& step : interleaved({0, 1}, 1, 3))
    order.push_back(configurations[step.number].configuration.grid.name() + " " + std::to_string(step.round));
  EXPECT_EQ(order, (std::vector<std::string>{"1x2 1", "2x1 1", "2x1 2", "1x2 2", "1x2 3", "2x1 3"}));
}

TEST(SweepPlanTest, AStepIsRepeatedAtTheEndOfItsRound) {
  auto steps = interleaved({0, 1, 2}, 1, 2);
  const auto order = [&] {
    std::string text;
    for (const auto& step : steps)
      text += "SWA"[step.number] + std::to_string(step.round) + std::to_string(step.attempt) + " ";
    return text;
  };
  repeat_step(steps, 0);
  EXPECT_EQ(order(), "S11 W11 A11 S12 A21 W21 S21 ");
  repeat_step(steps, 1);
  repeat_step(steps, 3);
  EXPECT_EQ(order(), "S11 W11 A11 S12 W12 S13 A21 W21 S21 ");
  repeat_step(steps, steps.size() - 1);
  EXPECT_EQ(order(), "S11 W11 A11 S12 W12 S13 A21 W21 S21 S22 ");
}

}  // namespace
}  // namespace cg2d::sweep_plan_test
