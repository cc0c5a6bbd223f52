#include "cg/run/run_report.hpp"

#include <fmt/format.h>

#include <utility>

namespace cg2d {

std::string disturbance(const RunReport& report) {
  std::string text;
  std::size_t count = 0;
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
  for (std::size_t rank = 1; rank < report.ranks.size(); ++rank)
    all = merged(all, report.ranks[rank].row_lengths);
  return all;
}

}  // namespace cg2d
