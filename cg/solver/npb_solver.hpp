#pragma once

// An outer iteration on an assembled operator, for callers that time steps of it.

#include <memory>
#include <span>
#include <vector>

#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/outer_iteration.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {

/// Holds references: operator and guard must outlive it. Collective in everything but the accessors.
class NpbSolver {
 public:
  NpbSolver(AssembledOperator& assembled, double shift, OuterStepGuard* guard = nullptr,
            const IterationRow& kind = iteration_table().front())
      : assembled_(assembled),
        iteration_(kind.make(guard != nullptr ? guard->guarded() : assembled.matrix(), assembled.timer(),
                             assembled.thread_count())),
        shift_(shift) {
    if (guard == nullptr) {
      assembled.matrix().set_observer(nullptr);  // one of an earlier solver is gone
      return;
    }
    iteration_->set_guard(guard);
    iteration_->observers().add(*guard);
  }

  /// Begins again from x = (1, ..., 1).
  void reset() { iteration_->reset(); }
  OuterStep outer_step(bool asks_to_stop = false) { return iteration_->outer_step(shift_, asks_to_stop); }
  /// One outer iteration from x = (1, ..., 1).
  void iterate() {
    reset();
    zeta_ = outer_step().zeta;
  }
  /// At most that many outer iterations from the present x, as OuterIteration::iterate().
  std::vector<OuterStep> outer_steps(int outer_step_count, std::span<OuterStepObserver* const> observers) {
    return iteration_->iterate(shift_, outer_step_count, observers);
  }

  /// The result of the last iterate().
  [[nodiscard]] double zeta() const { return zeta_; }
  [[nodiscard]] PhaseTimer& timer() { return assembled_.timer(); }
  [[nodiscard]] OuterIteration& iteration() { return *iteration_; }

 private:
  AssembledOperator& assembled_;
  std::unique_ptr<OuterIteration> iteration_;
  double shift_;
  double zeta_ = 0.0;
};

}  // namespace cg2d
