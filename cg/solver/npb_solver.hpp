#pragma once

// An outer iteration on an assembled operator, for callers that time steps of it.

#include <span>
#include <string>
#include <vector>

#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {

/// Watches a solver from inside: its products, its steps, its outer iterations and its sums.
class GuardHooks : public ProductObserver, public StepObserver, public OuterStepGuard {
 public:
  /// The operator that the solver works with, in place of its own; both live as long as the solver.
  [[nodiscard]] virtual LinearOperator& guarded(LinearOperator& matrix) = 0;
  /// The solver's residual vector, which is there when the solver is.
  virtual void watch_residual(std::span<double> residual) = 0;
  /// Why an outer iteration was refused, in one line; the same on every rank.
  [[nodiscard]] virtual const std::string& reason() const = 0;
};

/// Holds references: operator and guard must outlive it. Collective in everything but the accessors.
class NpbSolver {
 public:
  NpbSolver(AssembledOperator& assembled, double shift, GuardHooks* guard = nullptr)
      : assembled_(assembled),
        iteration_(guard != nullptr ? guard->guarded(assembled.matrix()) : assembled.matrix(),
                   assembled.timer(), assembled.thread_count()),
        shift_(shift) {
    assembled.matrix().set_observer(guard);  // or none: one of an earlier solver is gone
    if (guard == nullptr) return;
    guard->watch_residual(iteration_.residual());
    iteration_.set_guard(guard);
    iteration_.observers().add(*guard);
  }

  /// Begins again from x = (1, ..., 1).
  void reset() { iteration_.reset(); }
  OuterStep outer_step(bool asks_to_stop = false) { return iteration_.outer_step(shift_, asks_to_stop); }
  /// One outer iteration from x = (1, ..., 1).
  void iterate() {
    reset();
    zeta_ = outer_step().zeta;
  }
  /// At most that many outer iterations from the present x, as NpbIteration::iterate().
  std::vector<OuterStep> outer_steps(int outer_step_count, std::span<OuterStepObserver* const> observers) {
    return iteration_.iterate(shift_, outer_step_count, observers);
  }

  /// The result of the last iterate().
  [[nodiscard]] double zeta() const { return zeta_; }
  [[nodiscard]] PhaseTimer& timer() { return assembled_.timer(); }
  [[nodiscard]] NpbIteration& iteration() { return iteration_; }

 private:
  AssembledOperator& assembled_;
  NpbIteration iteration_;
  double shift_;
  double zeta_ = 0.0;
};

}  // namespace cg2d
