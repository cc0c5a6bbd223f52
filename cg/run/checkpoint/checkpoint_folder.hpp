#pragma once

// A folder of checkpoints, which all ranks see: the two newest whole generations, with a file for each rank. They are found, and saved while
// an iteration goes on.
//
// One rank's file of a checkpoint: its format, writing it durably, and reading it with all checks. No MPI.
//
//     header            104 bytes, see CheckpointHeader
//     state             state_bytes of JSON: what all ranks have alike
//     vectors           vector_count times the elements begin ... end - 1, 8 bytes each
//
// The header has its own CRC-32C, that of the state, and that of everything after the header. A file is exactly as long as its header says.

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/sample.hpp"
#include "cg/base/storage/open_file.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

// ---------------------------------------------------------------- one file, without MPI

/// The command that a checkpoint is of.
enum class CheckpointKind : uint32_t { run = 1, solve = 2 };

/// The name of a checkpoint file, with its generation and rank: "00000012.3-of-4.checkpoint".
struct CheckpointName {
  int64_t generation = 0;
  int rank = 0;
  int rank_count = 0;

  std::string text() const;
  std::string path_in(const std::string& folder) const { return folder + "/" + text(); }
  friend bool operator==(const CheckpointName&, const CheckpointName&) = default;
};
/// Empty for any other name.
std::optional<CheckpointName> checkpoint_name_from(std::string_view text);

/// At the begin of the file.
struct CheckpointHeader {
  static constexpr FileFormat format{.mark = {.magic = {'C', 'G', '2', 'D', 'C', 'K', 'P', '\n'}},
                                     .content = "a checkpoint"};

  FileMark mark = format.mark;
  CheckpointKind kind = CheckpointKind::run;
  uint32_t vector_count = 0;
  uint64_t matrix_hash = 0;  ///< hash of all that the state depends on
  int64_t order = 0;         ///< elements of each whole vector
  int64_t generation = 1;    ///< counts the checkpoints of a folder
  int64_t step = 0;          ///< iterations that are done
  comm::IndexRange range{};  ///< the elements of this file
  int32_t rank = 0;
  int32_t rank_count = 1;  ///< files of the checkpoint
  int64_t state_bytes = 0;
  uint32_t state_checksum = 0;
  uint32_t data_checksum = 0;  ///< CRC-32C of state and vectors
  uint32_t unused = 0;
  uint32_t checksum = 0;

  CheckpointName name() const { return {generation, rank, rank_count}; }
};
static_assert(sizeof(CheckpointHeader) == 104);

/// The state of an iteration, as one rank saves it. All but the range of the header and the vectors is alike on every rank, and the ranges
/// cut [0, order).
struct CheckpointState {
  /// Kind, hash, order, step and range; the rest follows when it is written.
  CheckpointHeader header{};
  std::string text{};                              ///< JSON
  std::vector<std::span<const double>> vectors{};  ///< each of the elements of the range
};

/// Writes a file of a state, whose header it completes, below this name in the folder, and returns when file and name are on
/// the disk: see NewFile. Without `takes_name` it leaves nothing: to learn the cost and whether it can be done. Throws RunError (cannot_create,
/// cannot_write), and leaves nothing then.
void write_checkpoint_file(const std::string& folder, const CheckpointName& name,
                           const CheckpointState& state, bool takes_name = true);

/// Reads a file; what it returns has been checked. Throws FileError with the reason.
class CheckpointReader {
 public:
  /// Checks the header, the length, and that the file is the one that this name says.
  CheckpointReader(std::string path, const CheckpointName& name);

  const CheckpointHeader& header() const { return header_; }
  std::string state() const;
  /// The wanted elements that the file has: targets[v][i - wanted.begin] := element i of vector v. Reads and checks the whole file;
  /// without targets that is all.
  void read(const comm::IndexRange& wanted, std::span<const std::span<double>> targets) const;

 private:
  OpenFile file_;
  CheckpointHeader header_;
};

// ---------------------------------------------------------------- the folder

/// --checkpoint, --checkpoint-interval and --restart.
struct CheckpointOptions {
  std::string folder{};                ///< empty: nothing is saved
  std::optional<double> interval_s{};  ///< empty: Young's, by the measured time to write a checkpoint
  std::string restart{};               ///< the folder to go on from; empty: from the beginning

  bool is_used() const { return !folder.empty() || !restart.empty(); }
};

/// The mean time between failures of a job that `auto` assumes: a day.
inline constexpr double assumed_failure_interval_s = 24.0 * 3600.0;

/// The interval between two checkpoints at which writing them and repeating lost work together cost least: J. W. Young, A First Order
/// Approximation to the Optimum Checkpoint Interval, Communications of the ACM 17(9), 1974. write_s: the time to write one.
inline double young_interval_s(double write_s, double failure_interval_s = assumed_failure_interval_s) {
  return std::sqrt(2.0 * write_s * failure_interval_s);
}

/// Checkpoints that an iteration has written, for its report.
struct CheckpointFacts {
  std::string folder;
  int count = 0;            ///< written
  double total_s = 0.0;     ///< the time they took; part of the timed region
  double write_s = 0.0;     ///< the last one's, or the rehearsal's
  double interval_s = 0.0;  ///< between two of them
  bool is_automatic = false;
  std::string failure;  ///< why the last attempt failed; empty: it did not
};

/// A whole checkpoint, every bit of which has been checked; alike on every rank.
struct FoundCheckpoint {
  std::string folder;
  int64_t generation = 0;
  std::vector<CheckpointHeader> headers;  ///< headers of its files, by rank
  std::string state;
  std::vector<std::string> rejected;  ///< why each newer generation was not taken, newest first

  const CheckpointHeader& header() const { return headers.front(); }
};

class Members;
/// The first members of restart, in a result.
void describe(Members& m, FoundCheckpoint& found);

/// The newest generation that is whole and intact. The ranks share the reading. Collective. Throws RunError (bad_data) with the
/// reasons, alike on every rank, where there is none.
FoundCheckpoint newest_checkpoint(const std::string& folder, comm::RankGroup& group);
/// This rank's range of each vector of a checkpoint, whatever number of ranks wrote it; targets have as many elements. Collective.
/// Throws RunError (bad_data) alike on every rank.
void read_vectors(const FoundCheckpoint& found, const comm::IndexRange& range,
                  std::span<const std::span<double>> targets, comm::RankGroup& group);

/// Whether a folder has no more than the rest of a first checkpoint that was not finished, or is not there. Collective.
bool has_no_checkpoint(const std::string& folder, comm::RankGroup& group);

/// The checkpoints that one program goes on from and saves. Collective in everything but the accessors; the group must outlive it.
class Checkpoints {
 public:
  /// Claims the folder to save to, and then finds the checkpoint to go on from, if one was asked for: no other run replaces it meanwhile. Where
  /// the same folder is to have new ones, none there is only a warning: then the first start and each later one are the same command. Removes
  /// generations that were not finished, and tries whether the folder can be written. what: "run" or "solve". Throws, alike on every rank,
  /// InputError where the folder has a whole generation and is not gone on from, and RunError as FolderClaim, newest_checkpoint() and
  /// rehearse().
  Checkpoints(CheckpointOptions asked, std::string_view what, comm::RankGroup& group);

  /// With --restart.
  const FoundCheckpoint* found() const { return found_ ? &*found_ : nullptr; }
  /// With --checkpoint.
  bool are_saved() const { return !asked_.folder.empty(); }
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Writes a checkpoint without a name, which gives its cost. Throws RunError (cannot_create, cannot_write), alike on every rank.
  void rehearse(const CheckpointState& state);
  /// After this call the checkpoint is on the disk, and of the earlier generations only the last good one. One that cannot be written does
  /// not end the work: the earlier ones are there, and the disk may have room later.
  void save(const CheckpointState& state);
  /// Whether the interval since the last one is over, by the clock of rank 0.
  bool is_due() const;

  /// The interval is the same on all ranks, since the time that a checkpoint takes is the slowest rank's.
  const CheckpointFacts& facts() const { return facts_; }
  /// The last whole generation in the folder; 0: none yet.
  int64_t last_generation() const { return last_generation_; }

 private:
  void find(std::string_view what);
  void open();
  /// The name of this rank's next file.
  CheckpointName next_name() const { return {next_generation_, group_.rank(), group_.size()}; }
  void record_written(const Stopwatch& stopwatch);
  void remove_others(int64_t generation) const;

  CheckpointOptions asked_;
  comm::RankGroup& group_;
  std::optional<FolderClaim> claim_;  // of rank 0
  std::optional<FoundCheckpoint> found_;
  std::vector<std::string> warnings_;
  CheckpointFacts facts_;
  int64_t last_generation_ = 0;
  int64_t next_generation_ = 1;
  Stopwatch since_last_;
};

/// The words of a command, with those of an option replaced by "NAME VALUE", or with these added.
std::vector<std::string> with_option(std::vector<std::string> command, const std::string& name,
                                     const std::string& value);

/// The end of the sentence about a signal: whether the state is saved, why not, and the command that goes on from it. is_restarted: the
/// iteration went on from a checkpoint itself. last_generation: in the folder that it saves to; 0: none. failure: why its state at the signal
/// is not saved. command: that of the interrupted program.
std::string how_to_go_on(const CheckpointOptions& asked, bool is_restarted, int64_t last_generation,
                         const std::string& failure, std::vector<std::string> command);

}  // namespace cg2d
