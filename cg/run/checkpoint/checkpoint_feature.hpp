#pragma once

// --checkpoint and --restart: the work is saved, and goes on from what was saved.

#include <optional>
#include <string>
#include <vector>

#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/checkpoint/checkpoint_saver.hpp"
#include "cg/run/feature.hpp"

namespace cg2d {

/// Holds what a workload takes its state from, and saves it to: what a state is, only the workload knows.
class CheckpointFeature {
 public:
  /// Finds the checkpoint to go on from, and claims the folder to save to. Collective. Throws RunError (on every rank alike).
  CheckpointFeature(const FeatureContext& context, WorkKind kind);

  /// The end of the sentence about a signal that has ended the work.
  [[nodiscard]] std::string last_words() const;

  /// With --restart.
  [[nodiscard]] const FoundCheckpoint* found() const { return found_ ? &*found_ : nullptr; }
  /// With --checkpoint.
  [[nodiscard]] CheckpointSaver* saver() { return saver_ ? &*saver_ : nullptr; }

 private:
  FeatureContext context_;
  CheckpointOptions options_;
  std::optional<FoundCheckpoint> found_;
  std::optional<CheckpointSaver> saver_;
};

/// The first members of restart, in a result.
void describe(Members& m, FoundCheckpoint& found);

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
