#pragma once

// A product and its communicator with the solver on them, for those who want to time steps of it.

#include "cg/solver/block_operator.hpp"
#include "cg/solver/block_product.hpp"
#include "cg/solver/solver.hpp"
#include "cg/timing/phase_timer.hpp"
#include "comm/communicator.hpp"

namespace cg2d {

/// Holds references: communicator and product must outlive it. Collective in everything but the accessors.
class SteppedSolver {
 public:
  SteppedSolver(comm::Communicator& communicator, BlockProduct& product, int thread_count, double shift,
                bool times_phases = false)
      : timer_(times_phases, communicator),
        operator_(communicator, product, timer_, thread_count),
        solver_(operator_, communicator, timer_, thread_count),
        shift_(shift) {}

  /// Begins again from x = (1, ..., 1).
  void reset() { solver_.reset(); }
  OuterStep outer_step() { return solver_.outer_step(shift_, false); }
  /// One outer iteration from x = (1, ..., 1).
  void iterate() {
    reset();
    zeta_ = outer_step().zeta;
  }

  /// Of the last iterate().
  [[nodiscard]] double zeta() const { return zeta_; }
  [[nodiscard]] PhaseTimer& timer() { return timer_; }

 private:
  PhaseTimer timer_;
  BlockOperator operator_;
  Solver solver_;
  double shift_;
  double zeta_ = 0.0;
};

}  // namespace cg2d
