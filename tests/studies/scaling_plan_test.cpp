// The ways to use a number of cores, the problem that each gets, and which of them fit into memory.

#include "cg/studies/scaling.hpp"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/error_of.hpp"

namespace cg2d::scaling_plan_test {
namespace {

std::vector<std::string> labels_of(const std::vector<int>& core_counts, const AxisValues& values,
                                   const ConfiguredProblem& asked = {}) {
  std::vector<std::string> labels;
  for (const auto& one : cases_of(core_counts, values, asked)) labels.push_back(label_of(one));
  return labels;
}

/// Nodes of that many cores with that many ranks on each.
Environment nodes_with(size_t node_count, int core_count, int rank_count) {
  NodeInfo node;
  node.core_count = core_count;
  node.rank_count = rank_count;
  Environment environment;
  environment.nodes.assign(node_count, node);
  return environment;
}

ConfiguredProblem case_of(int rank_count, int thread_count) {
  return {.problem = "S",
          .configuration = {.grid = {.columns = 1, .rows = rank_count}, .thread_count = thread_count}};
}

TEST(ScalingPlanTest, CoreCountsDoubleUpToTheRanks) {
  EXPECT_EQ(usual_core_counts(1), (std::vector<int>{1}));
  EXPECT_EQ(usual_core_counts(6), (std::vector<int>{1, 2, 4, 6}));
  EXPECT_EQ(usual_core_counts(8), (std::vector<int>{1, 2, 4, 8}));
}

TEST(ScalingPlanTest, EverySplitIntoRanksAndThreadsIsAWay) {
  EXPECT_EQ(labels_of({6}, {{"transport", {"native", "shared"}}}),
            (std::vector<std::string>{
                "6 cores, ranks only, native, 6 x 1", "6 cores, shared-memory ranks, shared, 6 x 1",
                "6 cores, ranks x threads, native, 3 x 2", "6 cores, ranks x threads, shared, 3 x 2",
                "6 cores, ranks x threads, native, 2 x 3", "6 cores, ranks x threads, shared, 2 x 3",
                "6 cores, threads only, 1 x 6"}));
  EXPECT_EQ(labels_of({1, 5}, {{"transport", {"two-sided"}}}),
            (std::vector<std::string>{"1 core, one core, 1 x 1", "5 cores, ranks only, two-sided, 5 x 1",
                                      "5 cores, threads only, 1 x 5"}));
  for (const auto& one : cases_of({4096}, {{"transport", {"two-sided"}}}))
    EXPECT_LE(one.configuration.thread_count, 1024) << "no processor has more";
}

TEST(ScalingPlanTest, CutsAreComparedOnSeveralRanks) {
  const AxisValues values{{"transport", {"shared"}}, {"cut", {"even", "speed", "auto", "nonzeros"}}};
  EXPECT_EQ(labels_of({2}, values),
            (std::vector<std::string>{"2 cores, shared-memory ranks, shared, 2 x 1",
                                      "2 cores, shared-memory ranks, shared, 2 x 1, cut speed",
                                      "2 cores, shared-memory ranks, shared, 2 x 1, cut nonzeros",
                                      "2 cores, threads only, 1 x 2"}));
  EXPECT_EQ(labels_of({2}, values, {.problem = "A.mtx", .form = "matrix"}),
            (std::vector<std::string>{"2 cores, matrix, shared-memory ranks, shared, 2 x 1, cut even",
                                      "2 cores, matrix, shared-memory ranks, shared, 2 x 1, cut speed",
                                      "2 cores, matrix, shared-memory ranks, shared, 2 x 1",
                                      "2 cores, matrix, threads only, 1 x 2"}));
}

TEST(ScalingPlanTest, RoomIsThereWhereEveryThreadHasACore) {
  EXPECT_TRUE(has_room(case_of(2, 2), nodes_with(1, 4, 4), nodes_with(1, 4, 2)));
  EXPECT_TRUE(has_room(case_of(4, 1), nodes_with(2, 2, 2), nodes_with(2, 2, 2)));
  EXPECT_FALSE(has_room(case_of(1, 4), nodes_with(1, 4, 4), nodes_with(1, 1, 1))) << "bound to one core";
  EXPECT_FALSE(has_room(case_of(2, 2), nodes_with(1, 4, 4), nodes_with(1, 2, 2)));
  EXPECT_FALSE(has_room(case_of(1, 4), nodes_with(2, 2, 2), nodes_with(1, 2, 1))) << "threads stay on a node";
  EXPECT_TRUE(has_room(case_of(1, 4), nodes_with(1, 2, 4), nodes_with(1, 2, 1))) << "fewer cores are shared";
  EXPECT_TRUE(has_room(case_of(4, 1), nodes_with(1, 2, 4), nodes_with(1, 2, 4)));
}

// ---------------------------------------------------------------- figures of the ways to use a number of cores, the verdict on them, and the contents of the table

using test::expect_in;

/// The cells of a line of the CSV, by columns.
std::map<std::string, std::string> csv_line(const ScalingStudy& study, size_t number) {
  std::istringstream text(write_scaling(study, "csv"));
  std::string head;
  std::string line;
  std::getline(text, head);
  for (size_t k = 0; k <= number; ++k) std::getline(text, line);
  std::istringstream names(head);
  std::istringstream cells(line);
  std::map<std::string, std::string> found;
  for (std::string name; std::getline(names, name, ',');) std::getline(cells, found[name], ',');
  return found;
}

ScalingStudy study_of(const std::vector<int>& core_counts, bool weak = false) {
  ScalingStudy study;
  study.options.common.problem = *find_class("S");
  study.options.weak = weak;
  study.options.core_counts = core_counts;
  study.options.values = {{"transport", {"two-sided", "shared"}}, {"cut", {"auto"}}};
  study.options.round_count = 3;
  study.cases = cases_of(core_counts, study.options.values);
  return study;
}

void set_time(ResultRecord& run, double time_s) {
  run.time_s = time_s;
  run.times_s = {time_s};
}

void fail(ResultRecord& run, ExitCode code, const std::string& reason = {}) {
  run.exit_code = static_cast<int>(code);
  run.status = status_name(code);
  run.reason = reason;
}

/// A run of the case of that number in the plan.
ResultRecord run_of(const ScalingStudy& study, size_t number, double time_s, int round = 1) {
  ResultRecord run;
  run.asked = study.cases.at(number);
  run.is_in_sweep = true;
  run.round = round;
  run.status = "success";
  run.arrangement = run.asked.configuration.grid.name();
  run.kernel_used = "sell";
  set_time(run, time_s);
  run.zeta = 8.5971775078648;
  run.shares = {.moving = 0.125, .waiting = 0.0625};
  return run;
}

/// 1 core: 1 s. 2 cores: ranks 0.8 s, shared-memory ranks 0.5 s, threads 0.625 s.
ScalingStudy two_core_study(bool weak = false) {
  auto study = study_of({1, 2}, weak);
  const std::vector<double> times_s{1.0, 0.8, 0.5, 0.625};
  for (size_t number = 0; number < times_s.size(); ++number)
    study.runs.push_back(run_of(study, number, times_s.at(number)));
  return study;
}

TEST(ScalingTableTest, SpeedUpsAndEfficiencies) {
  const auto rows = rows_of(two_core_study());
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_DOUBLE_EQ(rows[0].speed_up.value(), 1.0);
  EXPECT_DOUBLE_EQ(rows[1].speed_up.value(), 1.25);
  EXPECT_DOUBLE_EQ(rows[2].speed_up.value(), 2.0);
  EXPECT_DOUBLE_EQ(rows[2].efficiency.value(), 1.0);
  EXPECT_DOUBLE_EQ(rows[3].efficiency.value(), 0.8);
  EXPECT_DOUBLE_EQ(rows[1].ratio_to_best, 1.6);
  EXPECT_TRUE(rows[0].is_candidate && !rows[1].is_candidate && rows[2].is_candidate);
  EXPECT_DOUBLE_EQ(rows[2].rate, official_flop_count(*find_class("S")) / 0.5);
  const auto weak = rows_of(two_core_study(true));
  EXPECT_DOUBLE_EQ(weak[1].efficiency.value(), 1.0 / 0.8);
  EXPECT_DOUBLE_EQ(weak[1].speed_up.value(), 2.0 / 0.8);
  auto study = two_core_study();
  fail(study.runs[0], ExitCode::not_finite);
  EXPECT_FALSE(rows_of(study)[1].speed_up.has_value()) << "there is nothing of one core";
}

/// two_core_study() with nine rounds.
ScalingStudy nine_round_study() {
  auto study = two_core_study();
  const auto first = study.runs;
  for (int round = 2; round <= 9; ++round) {
    for (auto run : first) {
      run.round = round;
      set_time(run, run.time_s * (1.0 + 0.01 * round));
      study.runs.push_back(run);
    }
  }
  return study;
}

TEST(ScalingTableTest, TheStarIsForWhatIsSure) {
  const auto one_round = write_scaling(two_core_study(), "text");
  expect_in(one_round, " 1.000~");
  expect_in(one_round, " 1.600~");
  expect_in(one_round,
            "2 cores: no clear winner: shared-memory ranks, shared, 2 x 1 (median 0.5 s) was faster than "
            "threads only, 1 x 2 in 1 of 1 round, than ranks only, two-sided, 2 x 1 in 1 of 1; at least 8 "
            "rounds are needed (take --repeat 8)");
  EXPECT_FALSE(rows_of(nine_round_study())[1].may_be_best);
  const auto nine_rounds = write_scaling(nine_round_study(), "text");
  expect_in(nine_rounds, " 1.000*");
  expect_in(nine_rounds,
            "2 cores: best is shared-memory ranks, shared, 2 x 1 with 0.525 s, better than threads only, "
            "1 x 2 by 25 %");
  EXPECT_EQ(nine_rounds.find("1 core:"), std::string::npos) << "there is one way";
}

TEST(ScalingTableTest, AFailedRunSpoilsItsWay) {
  auto study = two_core_study();
  fail(study.runs[2], ExitCode::memory, "not enough memory on this node");
  const auto rows = rows_of(study);
  EXPECT_FALSE(rows[2].is_sound());
  EXPECT_TRUE(rows[3].is_candidate);
  const auto verdict = verdict_on(study);
  EXPECT_EQ(verdict.code, ExitCode::memory);
  EXPECT_EQ(verdict.reason, "2 cores, shared-memory ranks, shared, 2 x 1: not enough memory on this node");
  const auto text = write_scaling(study, "text");
  expect_in(text, "failed");
  expect_in(text, "not-enough-memory: not enough memory on this node");
  auto cells = csv_line(study, 2);
  EXPECT_EQ(cells["transport"] + " " + cells["status"] + " " + cells["runs"], "shared not-enough-memory 1");
  EXPECT_EQ(cells["figures.median_s"], "");
}

TEST(ScalingTableTest, DisturbedRunsAreMarkedAndNamed) {
  auto study = two_core_study();
  const auto quiet = write_scaling(study, "text");
  EXPECT_EQ(quiet.find('!'), std::string::npos) << quiet;
  study.runs[2].disturbance = "a compiler";
  EXPECT_EQ(rows_of(study)[2].measured.disturbed_count, 1);
  const auto text = write_scaling(study, "text");
  expect_in(text, "1.000~!\n");
  expect_in(
      text,
      "  Disturbed (!): 2 cores, shared-memory ranks, shared, 2 x 1, 1 of 1 run, in round 1: a compiler\n");
  expect_in(write_scaling(study, "json"), "\"disturbance\": \"a compiler\"");
  for (const size_t run : {1U, 3U}) study.runs[run].disturbance = "a compiler";
  expect_in(write_scaling(study, "text"), "in 1 of 1; too noisy to decide: most runs were disturbed\n");
}

TEST(ScalingTableTest, AnInterruptedStudyShowsWhatThereIs) {
  auto study = two_core_study();
  study.runs.resize(2);
  study.is_interrupted = true;
  study.warnings = {"mind the gap"};
  const auto verdict = verdict_on(study);
  EXPECT_EQ(verdict.code, ExitCode::interrupted);
  EXPECT_EQ(verdict.reason, "interrupted by a signal after 2 runs");
  const auto text = write_scaling(study, "text");
  expect_in(text, "not run");
  expect_in(text, "meets the reference 8.5971775078648");
  expect_in(text, "Warning: mind the gap");
  EXPECT_EQ(csv_line(study, 2)["status"] + csv_line(study, 2)["runs"], "not-run0");
}

TEST(ScalingTableTest, WaysOfOneProblemMustAgreeWhereThereIsNoReference) {
  auto study = two_core_study(true);
  for (auto& run : study.runs) *run.zeta += &run == study.runs.data() ? 0.0 : 1.0;  // of another order
  EXPECT_EQ(agreements_of(study).size(), 2U);
  EXPECT_EQ(verdict_on(study).code, ExitCode::success);
  *study.runs[2].zeta *= 1.0 + 0.9e-10;
  EXPECT_EQ(verdict_on(study).code, ExitCode::success);
  *study.runs[2].zeta *= 1.0 + 0.2e-10;
  const auto verdict = verdict_on(study);
  EXPECT_EQ(verdict.code, ExitCode::verification_failed);
  expect_in(verdict.reason, "n 2800: zeta of 3 runs agrees only within 1.1e-10 (1e-10 allowed)");
}

TEST(ScalingTableTest, RunsOfAnotherReferenceDoNotMeetThisOne) {
  auto study = two_core_study();
  study.options.common.problem.reference_zeta = 3.0;
  const auto verdict = verdict_on(study);
  EXPECT_EQ(verdict.code, ExitCode::verification_failed);
  EXPECT_EQ(verdict.reason, "n 1400: zeta of 4 runs does not meet the reference 3");
}

/// laplace2d:10x10 on 1 and 2 cores, without a matrix and with one: 1 s, 2 s on one core.
ScalingStudy system_study() {
  auto study = study_of({1, 2});
  auto& system = study.options.system.emplace();
  system.operator_text = "laplace2d:10x10";
  system.most_iterations = 50;
  study.cases.clear();
  for (const int core_count : study.options.core_counts) {
    for (const auto* form : {"domain", "matrix"}) {
      const ConfiguredProblem asked{.problem = system_name(system), .form = form};
      for (const auto& one : cases_of({core_count}, {{"transport", {"two-sided"}}}, asked))
        study.cases.push_back(one);
    }
  }
  for (size_t number = 0; number < study.cases.size(); ++number) {
    const auto& one = study.cases[number];
    study.runs.push_back(run_of(study, number, (form_of(one) == "matrix" ? 2.0 : 1.0) / core_count_of(one)));
    study.runs.back().n = 100;
    study.runs.back().iteration_count = 50;
    study.runs.back().zeta.reset();
  }
  return study;
}

TEST(ScalingTableTest, SpeedUpOfASystemIsByTheSameForm) {
  const auto rows = rows_of(system_study());
  ASSERT_EQ(rows.size(), 6U);
  for (const auto& row : rows) {
    EXPECT_DOUBLE_EQ(row.speed_up.value(), core_count_of(row.asked));
    EXPECT_DOUBLE_EQ(row.efficiency.value(), 1.0);
    EXPECT_DOUBLE_EQ(row.ratio_to_best, form_of(row.asked) == "matrix" ? 2.0 : 1.0);
  }
  EXPECT_TRUE(agreements_of(system_study()).empty());
  const auto text = write_scaling(system_study(), "text");
  expect_in(text, "Strong scaling of laplace2d:10x10, 50 iterations, medians of 3 rounds");
  expect_in(text, " 2 matrix-free, threads only, 1 x 2");
  auto cells = csv_line(system_study(), 3);
  EXPECT_EQ(cells["n"] + " " + cells["form"] + " " + cells["threads"], "100 matrix-free 2");
}

}  // namespace
}  // namespace cg2d::scaling_plan_test
