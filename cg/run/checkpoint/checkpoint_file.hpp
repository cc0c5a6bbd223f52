#pragma once

// One rank's file of a checkpoint: its format, writing it durably, and reading it with all checks. No MPI.
//
//     header            104 bytes, see CheckpointHeader
//     state             state_bytes of JSON: what all ranks have alike
//     vectors           vector_count times the elements begin ... end - 1, 8 bytes each
//
// The header has its own CRC-32C, that of the state, and that of everything after the header. A file is exactly as long as its header says.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/storage/open_file.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// The command that a checkpoint is of.
enum class CheckpointKind : std::uint32_t { run = 1, solve = 2 };

/// The name of a checkpoint file, with its generation and rank: "00000012.3-of-4.checkpoint".
struct CheckpointName {
  std::int64_t generation = 0;
  int rank = 0;
  int rank_count = 0;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string path_in(const std::string& folder) const { return folder + "/" + text(); }
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
  std::uint32_t vector_count = 0;
  std::uint64_t matrix_hash = 0;  ///< hash of all that the state depends on
  std::int64_t order = 0;         ///< elements of each whole vector
  std::int64_t generation = 1;    ///< counts the checkpoints of a folder
  std::int64_t step = 0;          ///< iterations that are done
  comm::IndexRange range{};       ///< the elements of this file
  std::int32_t rank = 0;
  std::int32_t rank_count = 1;  ///< files of the checkpoint
  std::int64_t state_bytes = 0;
  std::uint32_t state_checksum = 0;
  std::uint32_t data_checksum = 0;  ///< CRC-32C of state and vectors
  std::uint32_t unused = 0;
  std::uint32_t checksum = 0;

  [[nodiscard]] CheckpointName name() const { return {generation, rank, rank_count}; }
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

  [[nodiscard]] const CheckpointHeader& header() const { return header_; }
  [[nodiscard]] std::string state() const;
  /// The wanted elements that the file has: targets[v][i - wanted.begin] := element i of vector v. Reads and checks the whole file;
  /// without targets that is all.
  void read(const comm::IndexRange& wanted, std::span<const std::span<double>> targets) const;

 private:
  OpenFile file_;
  CheckpointHeader header_;
};

}  // namespace cg2d
