#pragma once

// Checkpoints of a run: its state between two outer iterations, when it is saved, and how a later run goes on from it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/base/sample.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/checkpoint/checkpoint_saver.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The state that a restarted run begins with, besides x. Alike on every rank.
struct RestartFacts {
  FoundCheckpoint checkpoint;
  std::vector<OuterStep> earlier_steps;  ///< the outer iterations that are not done again
  CurvatureSigns signs;

  [[nodiscard]] int step_count() const { return static_cast<int>(earlier_steps.size()); }
};

/// The state in a checkpoint of this problem. Throws RunError (bad_data), alike on every rank, where it is of another one.
RestartFacts restart_facts(FoundCheckpoint checkpoint, const Problem& problem);
/// This rank's piece of x. Collective. Throws RunError (bad_data), alike on every rank.
HugePageVector restarted_x(const RestartFacts& restart, const comm::IndexRange& range,
                           comm::RankGroup& group);

/// The vector x of an iteration, in whole and in this rank's piece.
struct CheckpointedVector {
  const NpbIteration& iteration;
  const comm::IndexRange* range;  ///< of this rank's piece at each time; it must outlive this
};

/// Saves the state after an outer iteration where the interval is over, by the clock of rank 0, or a stop has been asked for. All ranks call
/// it alike. Holds references: problem, iteration and saver must outlive it.
class RunCheckpoints final : public OuterStepObserver {
 public:
  /// Rehearses a checkpoint. earlier_steps: before a restart. Collective. Throws as CheckpointSaver::rehearse().
  RunCheckpoints(const Problem& problem, const CheckpointedVector& x, std::vector<OuterStep> earlier_steps,
                 CheckpointSaver& saver);

  /// The interval begins now.
  void begin() { since_last_ = {}; }
  void after_outer_step(int number, const OuterStep& step) override;

 private:
  [[nodiscard]] CheckpointState state(int number);

  const Problem& problem_;
  CheckpointedVector x_;
  std::vector<OuterStep> steps_;
  CheckpointSaver& saver_;
  std::string state_;
  std::span<const double> vector_;
  Stopwatch since_last_;
};

}  // namespace cg2d
