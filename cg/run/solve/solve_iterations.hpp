#pragma once

// The iterations of a solve, with all that watches them.

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "cg/base/interrupt.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/run/region_measurement.hpp"
#include "cg/run/solve/solve_checkpoints.hpp"
#include "cg/run/solve/solve_observers.hpp"
#include "cg/run/solve/solve_operator.hpp"
#include "cg/solver/conjugate_gradient.hpp"

namespace cg2d {

/// A system with its solver and its vectors.
struct IteratedSystem {
  const AssembledSystem& system;
  ConjugateGradient& solver;
  Preconditioner& preconditioner;
  std::span<const double> b;  ///< of all right-hand sides
  HugePageVector& x;          ///< the initial guess, and then the solution
};

/// Holds references: all must outlive it. Collective.
class SolveIterations {
 public:
  /// Finds the state to go on from, and rehearses a checkpoint. Throws RunError (on every rank alike), MpiError.
  SolveIterations(const SolveParts& parts, const IteratedSystem& iterated, RegionMeasurement& measurement);

  /// The solve, timed. One solution for each right-hand side.
  std::vector<Solution> perform();

 private:
  void observe_systems();
  [[nodiscard]] CheckpointedSystem checkpointed_system() const;
  void restart(FoundCheckpoint found);
  std::vector<SystemSolveResult> solve();

  SolveParts parts_;
  const AssembledSystem& system_;
  ConjugateGradient& solver_;
  Preconditioner& preconditioner_;
  std::span<const double> b_;
  HugePageVector& x_;
  RegionMeasurement& measurement_;
  Tolerance tolerance_;
  OutsideOfPhases outside_;
  std::deque<SystemObservers> observers_;  // which do not move
  SolveProgress says_progress_;
  CheckpointedSystem checkpointed_;
  SolveState restarted_;
  std::optional<CgSnapshot> snapshot_;  // of the checkpoint that it goes on from
  // From the first iteration on, until the results are written: they are not given up for a late signal.
  InterruptWatch watch_;
  StepInterrupts interrupts_;
  std::optional<SolveCheckpoints> checkpoints_;
};

}  // namespace cg2d
