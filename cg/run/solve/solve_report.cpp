#include "cg/run/solve/solve_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cg/base/interrupt.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

BlockBalance balance_of(std::span<const std::int64_t> nonzeros) {
  const auto sum = std::accumulate(nonzeros.begin(), nonzeros.end(), std::int64_t{0});
  return {.largest = *std::ranges::max_element(nonzeros),
          .mean = static_cast<double>(sum) / static_cast<double>(nonzeros.size())};
}

namespace {

/// As the command line names them.
SolveTerms option_names() {
  return {.step = "iteration",
          .step_limit = "--max-iterations",
          .tolerance = "--rtol or --atol",
          .preconditioner = "--preconditioner",
          .stopped = interruption()};
}

}  // namespace

std::string reason_of(const Solution& solution) {
  return solution.is_solved() ? std::string() : sentence_of(solution.result, option_names());
}

std::string reason_of_measurement(const Solution& solution, int iteration_count) {
  const auto code = exit_code_of_measurement(solution.result);
  if (code == ExitCode::success) return {};
  if (code != ExitCode::usage) return sentence_of(solution.result, option_names());
  return fmt::format("--iterations {}: the system is solved to rounding after {}; take no more than these",
                     iteration_count, format_count(solution.result.step_count, "iteration"));
}

ExitCode exit_code_of_measurement(const SystemSolveResult& result) {
  const auto end = result.end;
  if (end == SolveEnd::step_limit) return ExitCode::success;
  const bool is_solved =
      (end == SolveEnd::stagnated && result.quantity.empty()) || exit_code_of(end) == ExitCode::success;
  return is_solved ? ExitCode::usage : exit_code_of(end);
}

int step_count_of(const SolveReport& report) {
  int count = report.solution ? report.solution->result.step_count : 0;
  for (const auto& solution : report.solutions) count = std::max(count, solution.result.step_count);
  return count;
}

int timed_step_count(const SolveReport& report) {
  return step_count_of(report) - (report.restart ? report.restart->state.number : 0);
}

}  // namespace cg2d
