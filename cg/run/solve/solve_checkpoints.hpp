#pragma once

// Checkpoints of a solve of one system: its state after an iteration, when it is saved, and how a later solve goes on.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/solve/solve_observers.hpp"
#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/step_observer.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Figures that reports need of each iteration: the history of residuals and the estimate of the spectrum follow from them.
struct SavedStep {
  double alpha = 0.0;
  double beta = 0.0;
  double residual_square = 0.0;
  int replacement_count = 0;
};

/// The state that a solve goes on from, besides its vectors. Alike on every rank.
struct SolveRestart {
  FoundCheckpoint checkpoint{};
  CgState state{};
  double replaced_norm = 0.0;
  std::vector<SavedStep> steps{};

  /// Tells an observer of all earlier iterations.
  void replay(StepObserver& observer) const;
};
class Members;
/// The state that the files have.
void describe(Members& m, SolveRestart& restart);

/// The system that a checkpoint belongs to.
struct CheckpointedSystem {
  std::uint64_t hash = 0;  ///< of the matrix, its values, the right-hand side and the method
  std::int64_t order = 0;
  comm::IndexRange range;  ///< of this rank's elements of each vector
  std::string text;        ///< for people
};

/// Throws RunError (bad_data), alike on every rank, for a checkpoint of another system.
SolveRestart solve_restart(FoundCheckpoint checkpoint, const CheckpointedSystem& system);

/// The whole state, with this rank's pieces of the vectors. Collective. Throws RunError (bad_data), alike on every rank.
SolveState restarted_state(const SolveRestart& restart, const comm::IndexRange& range,
                           comm::RankGroup& group);

/// The parts that checkpoints of a solve are made with; all must outlive them.
struct CheckpointWork {
  const CheckpointedSystem& system;
  ConjugateGradient& solver;
  std::span<const double> x;
  StepInterrupts& interrupts;  ///< told by the checkpoints, in place of being an observer itself
  const OutsideOfPhases& outside;
  Checkpoints& checkpoints;
  int most_iterations;  ///< of the solve
};

/// Saves the state after the last iteration that is allowed, for a solve with a higher limit, and where the interval is over or a stop is
/// asked for: at iterations at which the ranks ask each other for signals anyway, so that all know the same time.
class SolveCheckpoints final : public StepObserver {
 public:
  /// restart: nullptr, or what the solve goes on from. Rehearses a checkpoint. Collective. Throws as Checkpoints::rehearse().
  SolveCheckpoints(const CheckpointWork& work, const SolveRestart* restart);
  bool after_step(const CgState& state) override;

 private:
  [[nodiscard]] CheckpointState state(const CgSnapshot& snapshot);

  CheckpointWork work_;
  double next_s_ = 0.0;  // by the common clock of the interrupts
  SolveRestart saved_;   // but for its checkpoint
};

}  // namespace cg2d
