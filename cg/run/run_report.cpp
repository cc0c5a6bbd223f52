#include "cg/run/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "cg/base/describe.hpp"

namespace cg2d {
namespace {

std::string numbers_text(const Problem& problem) {
  return fmt::format("n {}, nonzer {}, shift {}, niter {}", problem.n, problem.nonzer, problem.shift,
                     problem.niter);
}

}  // namespace

uint64_t RestartFacts::problem_hash() const { return hash_of_text("run " + numbers_text(problem)); }

void describe(Members& m, RestartFacts& restart) {
  m("n", restart.problem.n);
  m("nonzer", restart.problem.nonzer);
  m("shift", restart.problem.shift);
  m("niter", restart.problem.niter);
  m("saw_positive", restart.signs.saw_positive);
  m("saw_negative", restart.signs.saw_negative);
  m.list("steps", restart.earlier_steps, {}, [&](OuterStep& step, size_t /*index*/) {
    m("zeta", step.zeta);
    m("residual_norm", step.residual_norm);
  });
}

RestartFacts restart_facts(FoundCheckpoint checkpoint, const Problem& problem) {
  const auto& [folder, header] = std::tie(checkpoint.folder, checkpoint.header());
  if (header.kind != CheckpointKind::run)
    throw FileError(folder, "found a checkpoint of cg2d solve, expected one of cg2d run");
  auto restart = from_json_line<RestartFacts>(checkpoint.state);
  const bool is_possible =
      restart && header.vector_count == 1 && header.step >= 1 && restart->step_count() == header.step &&
      std::ranges::all_of(restart->earlier_steps, [](const auto& step) { return is_finite(step); });
  if (!is_possible) throw FileError(folder, "found an impossible state, expected one of cg2d run");
  if (header.matrix_hash != RestartFacts{.problem = problem}.problem_hash() || header.order != problem.n ||
      header.step >= problem.niter)
    throw FileError(folder, "found a checkpoint of another problem ({}), expected class {} ({})",
                    numbers_text(restart->problem), problem.class_name, numbers_text(problem));
  restart->checkpoint = std::move(checkpoint);
  return *std::move(restart);
}

std::string disturbance(const RunReport& report) {
  std::string text;
  size_t count = 0;
  for (const auto& repeat : report.repeats) {
    if (!repeat.quiet.is_disturbed()) continue;
    if (count++ == 0) text = repeat.quiet.reason();
  }
  if (count == 0 || report.repeats.size() == 1) return text;
  return fmt::format("{} of {} repetitions, the first of them: {}", count, report.repeats.size(), text);
}

const RepeatReport& median_repeat(const RunReport& report) {
  return median_run_of(report.repeats, &RepeatReport::time_s);
}
RepeatReport& median_repeat(RunReport& report) {
  const auto& median = median_repeat(std::as_const(report));
  return report.repeats[static_cast<size_t>(&median - report.repeats.data())];
}

double mops_of(const RunReport& report, const RepeatReport& repeat) {
  return official_flop_count(timed_part(report)) / repeat.time_s / 1e6;
}

std::optional<double> relative_error(const RunReport& report, const RepeatReport& repeat) {
  const auto& reference = report.problem.reference_zeta;
  if (!reference || !report.unfinished.empty()) return std::nullopt;
  return std::abs(repeat.steps.back().zeta - *reference) / std::abs(*reference);
}

Sample repeat_times(const RunReport& report) {
  std::vector<double> times_s;
  for (const auto& repeat : report.repeats) times_s.push_back(repeat.time_s);
  return sample_of(std::move(times_s));
}

Problem timed_part(const RunReport& report) {
  Problem problem = report.problem;
  if (report.restart) problem.niter -= report.restart->step_count();
  return problem;
}

double cg_step_count(const RunReport& report) {
  return static_cast<double>(timed_part(report).niter) * cg_steps_per_solve;
}

const OuterStep& final_step(const RunReport& report) { return median_repeat(report).steps.back(); }

RowLengths all_row_lengths(const RunReport& report) {
  RowLengths all = report.ranks.front().row_lengths;
  for (size_t rank = 1; rank < report.ranks.size(); ++rank) all = merged(all, report.ranks[rank].row_lengths);
  return all;
}

}  // namespace cg2d
