#include "cg/library/solution.hpp"

namespace cg2d {

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
