#include "cg/solve/solution.hpp"

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
