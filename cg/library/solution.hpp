#pragma once

// The outcome of a solve with all that reports say of it.

#include <utility>

#include "cg/base/errors.hpp"
#include "cg/solver/lanczos.hpp"
#include "cg/solver/solve_end.hpp"

namespace cg2d {

/// The code that `cg2d solve` ends with, and the status of a solve in the C interface.
constexpr ExitCode exit_code_of(SolveEnd end) {
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

/// The result of a solve; the same on every rank.
struct Solution {
  SystemSolveResult result;
  double target_norm = 0.0;             ///< residual norm that the tolerance asks for
  std::vector<double> history{};        ///< norms by the recurrence, from before the first step on, if any
  SpectrumEstimate spectrum{};          ///< estimated spectrum of M^-1 A
  double predicted_steps = 0.0;         ///< at most, by the spectrum, to the target; 0: no estimate
  std::string preconditioner_remark{};  ///< on how it was made; empty: as usual

  /// There is an x that meets the tolerance: converged, or b = 0.
  bool is_solved() const { return exit_code_of(result.end) == ExitCode::success; }
};

/// All that a solve and the observers of its steps know together. target_norm: empty where the rule that ends it names none.
inline Solution solution_of(SystemSolveResult result, const StepHistory& history,
                            std::optional<double> target_norm, std::string preconditioner_remark) {
  const auto spectrum = history.estimate();
  const double b_norm = result.right_hand_side_norm;
  result.condition_number = spectrum.condition_number();
  return {
      .result = result,
      .target_norm = target_norm.value_or(0.0),
      .history = history.norms(),
      .spectrum = spectrum,
      .predicted_steps = target_norm && b_norm > 0.0 ? spectrum.predicted_steps(*target_norm / b_norm) : 0.0,
      .preconditioner_remark = std::move(preconditioner_remark)};
}

}  // namespace cg2d
