// The runs of a sweep and their order, the official grid, and the remaining time.

#include "cg/run/session_options.hpp"
#include "cg/studies/sweep.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "support/result_records.hpp"

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

TEST(SweepPlanTest, TakesEveryFactorizationOfEveryRankCountOrTheColumnsAskedFor) {
  EXPECT_EQ(grids_of(axes_of({1, 6})), (std::vector<std::string>{"1x1", "1x6", "2x3", "3x2", "6x1"}));
  auto axes = axes_of({2, 4});
  axes.columns = {1, 4};
  EXPECT_EQ(grids_of(axes), (std::vector<std::string>{"1x2", "1x4", "4x1"}));
}

constexpr comm::ProcessGrid tall_pair{.columns = 1, .rows = 2};

TEST(SweepPlanTest, TakesTheGridsAskedFor) {
  EXPECT_EQ(grids_of(axes_of({2, 4}, {tall_pair, {.columns = 1, .rows = 4}, {.columns = 4, .rows = 1}})),
            (std::vector<std::string>{"1x2", "1x4", "4x1"}));
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
  const auto forms_of = [&](std::string_view transport) {
    std::vector<std::string> forms;
    for (const auto& one : configurations_of(axes)) {
      if (one.configuration.transport == transport)
        forms.push_back(sum_form_name(one.configuration.sum_form));
    }
    return forms;
  };
  const auto& both = axes.values.at("sum_form");
  EXPECT_EQ(forms_of("two-sided"), both);
  EXPECT_EQ(forms_of("auto"), both);
  EXPECT_EQ(forms_of("shared"), (std::vector<std::string>{"reduce-scatter"}));
  axes.values.erase("sum_form");
  for (const std::string transport : {"two-sided", "shared", "auto"})
    EXPECT_EQ(forms_of(transport), (std::vector<std::string>{"reduce-scatter"})) << transport;
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

TEST(SweepPlanTest, TheOfficialGridHasAsManyColumnsAsRowsOrTwiceAsMany) {
  const auto name_of = [](int rank_count) {
    const auto grid = official_grid(rank_count);
    return grid ? grid->name() : "none";
  };
  EXPECT_EQ(name_of(2), "2x1");
  EXPECT_EQ(name_of(8), "4x2");
  EXPECT_EQ(name_of(64), "8x8");
  for (const int other : {3, 6, 12, 24, 100}) EXPECT_EQ(name_of(other), "none") << other;
}

TEST(SweepPlanTest, NamedGridsDecideTheRanksAndKeepTheirOrder) {
  const comm::ProcessGrid tall{.columns = 1, .rows = 4};
  const comm::ProcessGrid pair{.columns = 2, .rows = 1};
  EXPECT_EQ(usual_rank_counts({}, 8), std::vector<int>{8});
  EXPECT_EQ(usual_rank_counts({.grids = {tall, pair}}, 8), (std::vector<int>{2, 4}));
  EXPECT_EQ(usual_rank_counts({.grids = {tall}, .has_official = true}, 8), (std::vector<int>{4, 8}));
  const NamedGrids named{.grids = {tall, pair}, .has_official = true};
  EXPECT_EQ(grids_for(named, 4), (std::vector{tall, comm::ProcessGrid{.columns = 2, .rows = 2}}));
  EXPECT_EQ(grids_for(named, 2), std::vector{pair});
  EXPECT_THROW(static_cast<void>(grids_for(named, 3)), InputError);
  EXPECT_EQ(grids_for({}, 4).size(), 3U);
}

TEST(SweepPlanTest, ExtraRunsAreOneForEachConfigurationAndPurpose) {
  const auto configurations = configurations_of(axes_of({2}));
  EXPECT_TRUE(extra_steps(configurations.size(), {}).empty());
  ExtraRuns extras;
  extras.counters.events = "software";
  extras.measures_limits = true;
  const auto steps = extra_steps(configurations.size(), extras);
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[1].purpose, RunPurpose::counters);
  EXPECT_EQ(steps[2].purpose, RunPurpose::limits);
  EXPECT_EQ(steps[2].number, 0U);
}

TEST(SweepPlanTest, TheTraceIsOfTheBestOfTheMostRanksOfTheLastProblem) {
  EXPECT_FALSE(traced_configuration({}));
  const auto traced =
      traced_configuration({test::record_of(2, 2, 1.0), test::record_of(1, 4, 0.9),
                            test::record_of(1, 2, 0.1), test::failed_record_of(4, 1, "failed")});
  ASSERT_TRUE(traced);
  EXPECT_EQ(traced->arrangement(), "1x4");
  EXPECT_EQ(trace_file_of("some.folder/a.jsonl"), "some.folder/a.trace.json");
  EXPECT_EQ(trace_file_of("a"), "a.trace.json");
}

}  // namespace
}  // namespace cg2d::sweep_plan_test
