#pragma once

// Solves a user's own system A x = b by one call.

#include <span>

#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/preconditioner.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/solver/stop_rule.hpp"

namespace cg2d {

struct SolveOptions {
  const StopRule& stop;
  Preconditioner& preconditioner;
  std::span<StepObserver* const> observers{};  ///< told of every step, in this order
  int thread_count = 1;                        ///< for the vector operations
};

struct SystemSolveResult {
  SolveEnd end = SolveEnd::step_limit;
  int step_count = 0;
  double first_residual_norm = 0.0;  ///< || b ||
  double residual_norm = 0.0;        ///< || b - A x || by the recurrence, which the stop rule has seen
  double true_residual_norm = 0.0;   ///< || b - A x || by one more product
};

/// x := about A^-1 b for a definite A, from x = 0. b, x: this rank's pieces, matrix.local_size() doubles
/// each; they do not overlap. Collective over the operator's ranks; the same result on every rank. Throws
/// InputError, on every rank alike, where a piece has another length. Cost: one product per step and one
/// more; one vector is allocated.
///
///   MyOperator matrix;  // implements LinearOperator
///   IdentityPreconditioner none;
///   const auto result = solve(matrix, b, x, {.stop = RelativeResidual(1e-10, 100), .preconditioner = none});
SystemSolveResult solve(LinearOperator& matrix, std::span<const double> b, std::span<double> x,
                        const SolveOptions& options);

}  // namespace cg2d
