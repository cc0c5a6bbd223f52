#pragma once

// Checkpoints of a run: its state between two outer iterations, when it is saved, and how a later run goes on from it.

#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The state that a run is saved as, and that a restarted one begins with, besides x. Alike on every rank.
struct RestartFacts {
  FoundCheckpoint checkpoint{};
  Problem problem{};
  CurvatureSigns signs{};                  ///< of p . A p
  std::vector<OuterStep> earlier_steps{};  ///< the outer iterations that are not done again

  [[nodiscard]] int step_count() const { return static_cast<int>(earlier_steps.size()); }
};
class Members;
/// The state that the files have.
void describe(Members& m, RestartFacts& restart);

/// The state in a checkpoint of this problem. Throws RunError (bad_data), alike on every rank, where it is of another one.
RestartFacts restart_facts(FoundCheckpoint checkpoint, const Problem& problem);
/// This rank's piece of x. Collective. Throws RunError (bad_data), alike on every rank.
HugePageVector restarted_x(const RestartFacts& restart, const comm::IndexRange& range,
                           comm::RankGroup& group);

/// Saves the state after an outer iteration where the interval is over, by the clock of rank 0, or a stop has been asked for. All ranks call
/// it alike. Holds references: iteration, range and checkpoints must outlive it.
class RunCheckpoints final : public OuterStepObserver {
 public:
  /// Rehearses a checkpoint. range: of this rank's piece of x at each time. earlier_steps: before a restart. Collective. Throws as
  /// Checkpoints::rehearse().
  RunCheckpoints(const Problem& problem, const NpbIteration& iteration, const comm::IndexRange& range,
                 std::vector<OuterStep> earlier_steps, Checkpoints& checkpoints);

  void after_outer_step(int number, const OuterStep& step) override;

 private:
  [[nodiscard]] CheckpointState state();

  const NpbIteration& iteration_;
  const comm::IndexRange& range_;
  RestartFacts saved_;  // but for its checkpoint
  Checkpoints& checkpoints_;
};

}  // namespace cg2d
