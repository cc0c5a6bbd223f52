#pragma once

// The outer iteration of the NAS CG benchmark: inverse iteration, each step of which is a solve by conjugate
// gradients.

#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/outer_iteration.hpp"
#include "cg/solver/preconditioner.hpp"

namespace cg2d {

/// Calls in one outer iteration. The performance model counts with them; tests/solver/call_counts_test.cpp
/// holds them against real iterations.
struct OuterStepCalls {
  static constexpr SolveCalls solve{cg_steps_per_solve};

  static constexpr int products = solve.products() + ResidualCalls::products;
  /// Sums over all ranks: zeta's is the last one.
  static constexpr int sums = solve.dots() + ResidualCalls::dots + 1;
  /// The sum of zeta has two dot products.
  static constexpr int local_dots = sums + 1;
  /// Other vector operations: the scaling is the last one; half storage adds two halves of q in each product.
  static constexpr int updates(bool is_symmetric) {
    return solve.updates() + ResidualCalls::updates + 1 + (is_symmetric ? products : 0);
  }
};

/// z by 25 CG steps on A z = x, and zeta = shift + 1 / (x . z).
class NpbIteration final : public OuterIteration {
 public:
  NpbIteration(LinearOperator& matrix, PhaseTimer& timer, int thread_count);

  void steps(int count) override;
  [[nodiscard]] StepObservers& observers() override { return conjugate_gradient_.observers(); }

 private:
  Attempt attempt(double shift, bool asks_to_stop) override;
  void lay_out_steps() override { conjugate_gradient_.lay_out(); }

  IdentityPreconditioner preconditioner_;
  ConjugateGradient conjugate_gradient_;
};

}  // namespace cg2d
