// The ways to use a number of cores, the problem that each gets, and which of them fit into memory.

#include "cg/studies/scaling.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/paired_comparison.hpp"

namespace cg2d::scaling_plan_test {
namespace {

std::vector<std::string> labels_of(const std::vector<int>& core_counts,
                                   const std::vector<std::string>& transports) {
  std::vector<std::string> labels;
  for (const auto& one : cases_of(core_counts, {{"transport", transports}})) labels.push_back(label_of(one));
  return labels;
}

/// One node of that many cores with that many ranks on it.
Environment node_with(int core_count, int rank_count, const std::string& host = "here") {
  Environment environment;
  NodeInfo node;
  node.host = host;
  node.core_count = core_count;
  node.rank_count = rank_count;
  environment.nodes.push_back(node);
  return environment;
}

Environment two_nodes_with(int core_count, int rank_count) {
  auto environment = node_with(core_count, rank_count, "here");
  environment.nodes.push_back(node_with(core_count, rank_count, "there").nodes.front());
  return environment;
}

ConfiguredProblem case_of(int rank_count, int thread_count) {
  return {.problem = "S",
          .configuration = {.grid = {.columns = 1, .rows = rank_count}, .thread_count = thread_count}};
}

TEST(ScalingPlanTest, CoreCountsDoubleUpToTheRanks) {
  EXPECT_EQ(usual_core_counts(1), (std::vector<int>{1}));
  EXPECT_EQ(usual_core_counts(2), (std::vector<int>{1, 2}));
  EXPECT_EQ(usual_core_counts(6), (std::vector<int>{1, 2, 4, 6}));
  EXPECT_EQ(usual_core_counts(8), (std::vector<int>{1, 2, 4, 8}));
}

TEST(ScalingPlanTest, OneCoreIsUsedInOneWay) {
  EXPECT_EQ(labels_of({1}, {"two-sided", "shared"}), (std::vector<std::string>{"1 core, one core, 1 x 1"}));
}

TEST(ScalingPlanTest, RoundsForVerdictsAreThoseOfTheMostWays) {
  const auto rounds = [](const std::vector<int>& core_counts) {
    return rounds_for_verdicts(cases_of(core_counts, {{"transport", {"two-sided", "shared"}}}),
                               &core_count_of);
  };
  EXPECT_EQ(rounds({1}), rounds_for_verdict(1));
  EXPECT_EQ(rounds({1, 2}), rounds_for_verdict(3));
  EXPECT_EQ(rounds({1, 2, 4}), rounds_for_verdict(5));
}

TEST(ScalingPlanTest, TwoCoresAreRanksOrThreads) {
  EXPECT_EQ(labels_of({2}, {"two-sided", "shared"}),
            (std::vector<std::string>{"2 cores, ranks only, two-sided, 2 x 1",
                                      "2 cores, shared-memory ranks, shared, 2 x 1",
                                      "2 cores, threads only, 1 x 2"}));
}

TEST(ScalingPlanTest, EverySplitIntoRanksAndThreadsIsAWay) {
  EXPECT_EQ(labels_of({6}, {"native", "shared"}),
            (std::vector<std::string>{
                "6 cores, ranks only, native, 6 x 1", "6 cores, shared-memory ranks, shared, 6 x 1",
                "6 cores, ranks x threads, native, 3 x 2", "6 cores, ranks x threads, shared, 3 x 2",
                "6 cores, ranks x threads, native, 2 x 3", "6 cores, ranks x threads, shared, 2 x 3",
                "6 cores, threads only, 1 x 6"}));
}

TEST(ScalingPlanTest, APrimeNumberOfCoresHasNoSplit) {
  EXPECT_EQ(labels_of({5}, {"two-sided"}), (std::vector<std::string>{"5 cores, ranks only, two-sided, 5 x 1",
                                                                     "5 cores, threads only, 1 x 5"}));
}

TEST(ScalingPlanTest, NoRankGetsMoreThreadsThanAnyProcessorHas) {
  for (const auto& one : cases_of({4096}, {{"transport", {"two-sided"}}}))
    EXPECT_LE(one.configuration.thread_count, 1024) << label_of(one);
}

TEST(ScalingPlanTest, CasesOfASystemSayTheirForm) {
  ConfiguredProblem asked{.problem = "laplace2d:9x9", .form = "matrix"};
  EXPECT_EQ(label_of(cases_of({1}, {}, asked).front()), "1 core, matrix, one core, 1 x 1");
  for (const auto* form : {"domain", "factors"}) {
    asked.form = form;
    EXPECT_EQ(label_of(cases_of({2}, {{"transport", {"shared"}}}, asked).front()),
              "2 cores, matrix-free, shared-memory ranks, shared, 2 x 1");
  }
}

TEST(ScalingPlanTest, CutsAreComparedOnSeveralRanks) {
  const AxisValues values{{"transport", {"shared"}}, {"cut", {"even", "speed", "auto", "nonzeros"}}};
  const auto labels = [&](const ConfiguredProblem& asked) {
    std::vector<std::string> all;
    for (const auto& one : cases_of({2}, values, asked)) all.push_back(label_of(one));
    return all;
  };
  EXPECT_EQ(labels({}), (std::vector<std::string>{"2 cores, shared-memory ranks, shared, 2 x 1",
                                                  "2 cores, shared-memory ranks, shared, 2 x 1, cut speed",
                                                  "2 cores, shared-memory ranks, shared, 2 x 1, cut nonzeros",
                                                  "2 cores, threads only, 1 x 2"}));
  EXPECT_EQ(labels({.problem = "A.mtx", .form = "matrix"}),
            (std::vector<std::string>{"2 cores, matrix, shared-memory ranks, shared, 2 x 1, cut even",
                                      "2 cores, matrix, shared-memory ranks, shared, 2 x 1, cut speed",
                                      "2 cores, matrix, shared-memory ranks, shared, 2 x 1",
                                      "2 cores, matrix, threads only, 1 x 2"}));
  for (const auto& one : cases_of({2}, values))
    EXPECT_EQ(cut_of(one).empty(), one.configuration.grid.rank_count() == 1) << label_of(one);
  EXPECT_THROW(static_cast<void>(cases_of({2}, {{"cut", {"odd"}}})), InputError);
}

TEST(ScalingPlanTest, StrongScalingKeepsTheProblem) {
  const auto& problem = *find_class("S");
  const auto same = scaled_problem(problem, 4, false);
  EXPECT_EQ(same.n, problem.n);
  EXPECT_EQ(same.reference_zeta, problem.reference_zeta);
}

TEST(ScalingPlanTest, WeakScalingMultipliesTheOrderAndLosesTheReference) {
  const auto& problem = *find_class("S");
  EXPECT_EQ(scaled_problem(problem, 1, true).reference_zeta, problem.reference_zeta);
  const auto scaled = scaled_problem(problem, 3, true);
  EXPECT_EQ(scaled.n, 3 * problem.n);
  EXPECT_EQ(scaled.nonzer, problem.nonzer);
  EXPECT_EQ(scaled.shift, problem.shift);
  EXPECT_EQ(scaled.niter, problem.niter);
  EXPECT_EQ(scaled.class_name, "U");
  EXPECT_FALSE(scaled.reference_zeta.has_value());
}

TEST(ScalingPlanTest, AnOrderBeyondTheProgramIsRefused) {
  EXPECT_THROW(static_cast<void>(scaled_problem(*find_class("F"), 64, true)), InputError);
}

TEST(ScalingPlanTest, RoomIsThereWhereEveryThreadHasACore) {
  EXPECT_TRUE(has_room(case_of(2, 2), node_with(4, 4), node_with(4, 2)));
  EXPECT_TRUE(has_room(case_of(4, 1), two_nodes_with(2, 2), two_nodes_with(2, 2)));
}

TEST(ScalingPlanTest, RanksBoundToOneCoreHaveNoRoomForThreads) {
  EXPECT_FALSE(has_room(case_of(1, 4), node_with(4, 4), node_with(1, 1)));
  EXPECT_FALSE(has_room(case_of(2, 2), node_with(4, 4), node_with(2, 2)));
}

TEST(ScalingPlanTest, ThreadsDoNotReachOverNodes) {
  EXPECT_FALSE(has_room(case_of(1, 4), two_nodes_with(2, 2), node_with(2, 1)));
}

TEST(ScalingPlanTest, FewerCoresThanThreadsAreShared) {
  EXPECT_TRUE(has_room(case_of(1, 4), node_with(2, 4), node_with(2, 1)));
  EXPECT_TRUE(has_room(case_of(4, 1), node_with(2, 4), node_with(2, 4)));
}

}  // namespace
}  // namespace cg2d::scaling_plan_test
