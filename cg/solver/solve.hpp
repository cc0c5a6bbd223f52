#pragma once

// Solves a user's own system A x = b by one call.

#include <span>

#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/preconditioner.hpp"
#include "cg/solver/solve_end.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/solver/stop_rule.hpp"

namespace cg2d {

struct SolveOptions {
  const StopRule& stop;
  Preconditioner& preconditioner;
  std::span<StepObserver* const> observers{};  ///< told of every step, in this order
  int thread_count = 1;                        ///< for the vector operations
  const CgVariantRow& variant = cg_variant_table().front();
  bool starts_from_x = false;  ///< x holds a guess; else the solve begins with zeros
};

/// x := about A^-1 b for a definite A. b, x: this rank's pieces, matrix.local_size() doubles each; they do
/// not overlap. Collective over the operator's ranks; the same result on every rank. Throws InputError, on
/// every rank alike, where a piece has another length. Cost: one product per step, and one for each time that
/// the residual is recomputed: once where all goes well; two to eight vectors are allocated. x of a solve that
/// failed (has_failed()) is the iterate with the smallest residual that was kept (KeptResidual), or that of the last completed step, if
/// that is better or the rule keeps none. After not_finite it means nothing.
///
///   MyOperator matrix;  // implements LinearOperator
///   IdentityPreconditioner none;
///   const auto result = solve(matrix, b, x, {.stop = Tolerance({.relative = 1e-10}), .preconditioner = none});
///   std::puts(sentence_of(result).c_str());
SystemSolveResult solve(LinearOperator& matrix, std::span<const double> b, std::span<double> x,
                        const SolveOptions& options);

}  // namespace cg2d
