#pragma once

// A matrix on one grid, from its source to the solver: for callers that time steps of it.

#include <cstdint>
#include <memory>
#include <utility>

#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/stepped_solver.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// One rank's solver with all objects that it uses. Holds a reference to the group, by its communicator.
/// Collective in everything but the accessors. The shift is 0: the zeta of timed steps is not used.
class GridSolver {
 public:
  /// Makes and converts this rank's block. A product with several vectors is for the steps that of one vector with
  /// all their elements. Grid and transport of the configuration must be known; the kernel
  /// is the chosen one. Throws RunError (on every rank alike), MpiError.
  static std::unique_ptr<GridSolver> make(comm::RankGroup& group, const MatrixSource& source,
                                          const Configuration& configuration, const ChosenKernel& chosen,
                                          bool times_phases = false);

  /// One outer step from x = (1, ..., 1).
  void iterate() { solver_.iterate(); }
  /// The first few CG steps of an outer step.
  void few_cg_steps() { solver_.iteration().steps(few_steps); }
  static constexpr int few_steps = 3;
  OuterStep outer_step() { return solver_.outer_step(); }

  [[nodiscard]] PhaseTimer& timer() { return solver_.timer(); }
  /// Nonzeros of this rank's whole block, also where half of it is stored.
  [[nodiscard]] std::int64_t nonzero_count() const { return nonzero_count_; }

 private:
  GridSolver(std::int64_t nonzero_count, std::unique_ptr<AssembledOperator> assembled)
      : nonzero_count_(nonzero_count), assembled_(std::move(assembled)), solver_(*assembled_, 0.0) {}

  std::int64_t nonzero_count_;
  std::unique_ptr<AssembledOperator> assembled_;
  SteppedSolver solver_;
};

}  // namespace cg2d
