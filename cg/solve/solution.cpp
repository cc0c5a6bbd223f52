#include "cg/solve/solution.hpp"

#include <fmt/format.h>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// As the command line names them.
constexpr SolveTerms option_names{.step = "iteration",
                                  .step_limit = "--max-iterations",
                                  .tolerance = "--rtol or --atol",
                                  .preconditioner = "--preconditioner",
                                  .stopped = "interrupted by a signal"};

}  // namespace

std::string Solution::reason() const {
  return exit_code_of(result.end) == ExitCode::success ? std::string() : sentence_of(result, option_names);
}

std::string Solution::reason_of_measurement(int iteration_count) const {
  const auto code = exit_code_of_measurement(result.end);
  if (code == ExitCode::success) return {};
  if (code != ExitCode::usage) return sentence_of(result, option_names);
  return fmt::format("--iterations {}: the system is solved to rounding after {}; take no more than these",
                     iteration_count, format_count(result.step_count, "iteration"));
}

ExitCode exit_code_of_measurement(SolveEnd end) {
  if (end == SolveEnd::step_limit) return ExitCode::success;
  const bool is_solved = end == SolveEnd::stagnated || exit_code_of(end) == ExitCode::success;
  return is_solved ? ExitCode::usage : exit_code_of(end);
}

ExitCode exit_code_of(SolveEnd end) {
  switch (end) {
    case SolveEnd::converged:
    case SolveEnd::zero_right_hand_side:
      return ExitCode::success;
    case SolveEnd::step_limit:
    case SolveEnd::stagnated:
      return ExitCode::not_converged;
    case SolveEnd::not_positive_definite:
      return ExitCode::not_positive_definite;
    case SolveEnd::not_finite:
      return ExitCode::not_finite;
    case SolveEnd::stopped:
      return ExitCode::interrupted;
  }
  return ExitCode::internal;
}

}  // namespace cg2d
