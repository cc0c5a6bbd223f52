#pragma once

// Checkpoints of a run: its state between two outer iterations, when it is saved, and how a later run goes on from it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/base/sample.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/checkpoint/checkpoint_interval.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// What a restarted run begins with, besides x. Alike on every rank.
struct RestartFacts {
  FoundCheckpoint checkpoint;
  std::vector<OuterStep> earlier_steps;  ///< the outer iterations that are not done again
  CurvatureSigns signs;

  [[nodiscard]] int step_count() const { return static_cast<int>(earlier_steps.size()); }
};

/// Of a checkpoint of this problem. Throws RunError (bad_data), alike on every rank, where it is of another one.
RestartFacts restart_facts(FoundCheckpoint checkpoint, const Problem& problem);
/// This rank's piece of x. Collective. Throws RunError (bad_data), alike on every rank.
HugePageVector restarted_x(const RestartFacts& restart, const comm::IndexRange& range,
                           comm::RankGroup& group);

/// The vector x of an iteration, in whole and in this rank's piece.
struct CheckpointedVector {
  const NpbIteration& iteration;
  comm::IndexRange range;  ///< of this rank's piece
};

/// Saves the state after an outer iteration where the interval is over, by the clock of rank 0, or a stop has been asked for. All ranks call
/// it alike. Holds references: problem, iteration and writer must outlive it.
class RunCheckpoints final : public OuterStepObserver {
 public:
  /// Rehearses a checkpoint, which gives its cost. Collective. interval_s: as CheckpointOptions; earlier_steps: before a restart; writer: of
  /// the same group. Throws RunError (cannot_create, cannot_write), alike on every rank.
  RunCheckpoints(std::optional<double> interval_s, const Problem& problem, const CheckpointedVector& x,
                 std::vector<OuterStep> earlier_steps, CheckpointWriter& writer);

  /// The interval begins now.
  void begin();
  void after_outer_step(int number, const OuterStep& step) override;

  [[nodiscard]] const CheckpointFacts& facts() const { return facts_; }

 private:
  [[nodiscard]] CheckpointState state(int number);
  void save(int number);
  void note_interval();

  const Problem& problem_;
  CheckpointedVector x_;
  CheckpointInterval interval_;
  std::vector<OuterStep> steps_;
  CheckpointWriter& writer_;
  CheckpointFacts facts_;
  std::vector<double> numbers_;
  std::span<const double> vector_;
  Stopwatch since_last_;
};

/// The words of a command, with those of an option replaced by "NAME VALUE", or with these added.
std::vector<std::string> with_option(std::vector<std::string> command, const std::string& name,
                                     const std::string& value);

/// An iteration that a signal has ended, by what its last words need.
struct InterruptedWork {
  const CheckpointOptions& asked;
  const Configuration& configuration;  ///< in use
  bool grid_was_open = false;          ///< the command leaves it to the program
  bool kernel_was_open = false;
  bool is_restarted = false;         ///< it went on from a checkpoint itself
  std::int64_t last_generation = 0;  ///< in the folder that it saves to; 0: none
  std::string failure{};             ///< why its state at the signal is not saved
};
/// The end of the sentence about a signal: whether the state is saved, why not, and the command that goes on from it. The command names
/// grid and kernel, since others give other last bits. command: that of the interrupted program.
std::string how_to_go_on(const InterruptedWork& work, std::vector<std::string> command);

}  // namespace cg2d
