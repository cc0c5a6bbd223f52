#pragma once

// A x = b for a system of a test, by one call.

#include <span>

#include "cg/solver/conjugate_gradient.hpp"

namespace cg2d::test {

struct SolveOptions {
  const StopRule& stop;
  Preconditioner& preconditioner;
  std::span<StepObserver* const> observers{};  ///< told of every step, in this order
  int thread_count = 1;                        ///< for the vector operations
  const CgVariantRow& variant = cg_variant_table().front();
  bool starts_from_x = false;
};

/// x := about A^-1 b. b, x: this rank's pieces. Collective over the operator's ranks.
inline SystemSolveResult solve(LinearOperator& matrix, ConstPiece b, Piece x, const SolveOptions& options) {
  PhaseTimer no_timer;
  DistributedVectors vectors(matrix, no_timer, options.thread_count);
  ConjugateGradient conjugate_gradient(matrix, options.preconditioner, vectors, options.variant);
  for (auto* observer : options.observers) conjugate_gradient.observers().add(*observer);
  return conjugate_gradient.solve({.b = b, .x = x, .starts_from_x = options.starts_from_x}, options.stop)
      .front();
}

}  // namespace cg2d::test
