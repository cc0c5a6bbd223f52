#pragma once

// A folder of checkpoints, which all ranks see: the two newest whole generations, with a file for each rank.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/storage/folders.hpp"
#include "cg/run/checkpoint/checkpoint_file.hpp"
#include "cg/run/checkpoint/checkpoint_interval.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The state of an iteration. All but range and vectors is alike on every rank, and the ranges cut [0, order).
struct CheckpointState {
  CheckpointKind kind = CheckpointKind::run;
  std::uint64_t matrix_hash = 0;
  std::int64_t order = 0;
  std::int64_t step = 0;
  comm::IndexRange range;
  CheckpointData data;
};

/// A whole checkpoint, every bit of which has been checked; alike on every rank.
struct FoundCheckpoint {
  std::string folder;
  std::int64_t generation = 0;
  std::vector<CheckpointHeader> headers;  ///< headers of its files, by rank
  std::string state;
  std::vector<std::string> rejected;  ///< why each newer generation was not taken, newest first

  [[nodiscard]] const CheckpointHeader& header() const { return headers.front(); }
};

/// The newest generation that is whole and intact. The ranks share the reading. Collective. Throws RunError (bad_data) with the
/// reasons, alike on every rank, where there is none.
FoundCheckpoint newest_checkpoint(const std::string& folder, comm::RankGroup& group);
/// This rank's range of each vector of a checkpoint, whatever number of ranks wrote it; targets have as many elements. Collective.
/// Throws RunError (bad_data) alike on every rank.
void read_vectors(const FoundCheckpoint& found, const comm::IndexRange& range,
                  std::span<const std::span<double>> targets, comm::RankGroup& group);

/// Whether a folder has no more than the rest of a first checkpoint that was not finished, or is not there. Collective.
bool has_no_checkpoint(const std::string& folder, comm::RankGroup& group);
/// Whether both paths lead to one folder. Collective.
bool are_same_folder(const std::string& first, const std::string& second, comm::RankGroup& group);

/// A folder for checkpoints, which rank 0 has claimed for the run.
struct CheckpointClaim {
  std::string folder;
  std::unique_ptr<FolderClaim> of_rank_0;  ///< nullptr on other ranks
};
/// Makes the folder where it is missing. Collective. Throws RunError as FolderClaim, alike on every rank.
CheckpointClaim claim_checkpoints(std::string folder, comm::RankGroup& group);

/// The outcome of --checkpoint and --restart.
struct RestartChoice {
  std::optional<CheckpointClaim> claim;  ///< claim of the folder of --checkpoint
  std::optional<FoundCheckpoint> found;  ///< to go on from
  /// Generation of `found`, where new checkpoints go into its folder; for CheckpointWriter.
  std::optional<std::int64_t> generation;
  std::vector<std::string> warnings;
};
/// Claims the folder of --checkpoint, and then finds the checkpoint to go on from, if one was asked for: no other run replaces it
/// meanwhile. Where the same folder is to have new ones, none there is only a warning:
/// then the first start and each later one are the same command. what: "run" or "solve". Collective. Throws as newest_checkpoint()
/// and claim_checkpoints().
RestartChoice choose_restart(const CheckpointOptions& asked, std::string_view what, comm::RankGroup& group);

/// Writes checkpoints into a folder. Collective in everything but the accessors.
class CheckpointWriter {
 public:
  /// Removes generations in the folder that were not finished, and tries whether it can be written. restarted_from: the generation in
  /// this folder that the iteration goes on from; without one the folder must have no whole generation. Throws InputError, RunError
  /// (cannot_create, cannot_write), alike on every rank.
  CheckpointWriter(CheckpointClaim claim, std::optional<std::int64_t> restarted_from, comm::RankGroup& group);
  /// Claims the folder itself.
  CheckpointWriter(std::string folder, std::optional<std::int64_t> restarted_from, comm::RankGroup& group);

  /// Writes a checkpoint without a name, and returns the seconds it took. Throws RunError (cannot_create, cannot_write),
  /// alike on every rank.
  double rehearse(const CheckpointState& state);
  /// After this call the checkpoint is on the disk, and of the earlier generations only the last good one. Returns the seconds it
  /// took. Throws as rehearse(); earlier generations are untouched then.
  double save(const CheckpointState& state);

  /// Rank 0's value, on every rank.
  [[nodiscard]] bool first_says(bool value) const;

  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// The last whole generation; 0: none yet.
  [[nodiscard]] std::int64_t last_generation() const { return last_good_; }

 private:
  [[nodiscard]] CheckpointHeader header_of(const CheckpointState& state) const;
  void remove(const std::vector<CheckpointName>& names) const;
  void remove_others(std::int64_t generation) const;

  std::string folder_;
  CheckpointClaim claim_;
  comm::RankGroup& group_;
  std::int64_t last_good_ = 0;
  std::int64_t next_ = 1;
};

}  // namespace cg2d
