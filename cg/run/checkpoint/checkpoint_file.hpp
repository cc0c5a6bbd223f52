#pragma once

// One rank's file of a checkpoint: its format, writing it durably, and reading it with all checks. No MPI.
//
//     header            104 bytes, see CheckpointHeader
//     numbers           number_count of 8 bytes: the state that all ranks have alike
//     vectors           vector_count times the elements begin ... end - 1, 8 bytes each
//
// Numbers are in the order of bytes of the machine that wrote the file; byte_order tells a machine of another order
// to refuse it. The header has its own CRC-32C, that of the numbers, and that of everything after the header. A file is
// exactly as long as its header says.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cg/matrix/files/open_file.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// The command that a checkpoint is of.
enum class CheckpointKind : std::uint32_t { run = 1, solve = 2 };

/// At the begin of the file. A change of the format changes the version.
struct CheckpointHeader {
  static constexpr std::array<char, 8> expected_magic{'C', 'G', '2', 'D', 'C', 'K', 'P', '\n'};
  static constexpr std::uint32_t expected_version = 1;
  static constexpr std::uint32_t expected_byte_order = 0x01020304;

  std::array<char, 8> magic = expected_magic;
  std::uint32_t version = expected_version;
  std::uint32_t byte_order = expected_byte_order;
  CheckpointKind kind = CheckpointKind::run;
  std::uint32_t vector_count = 0;
  std::uint64_t matrix_hash = 0;  ///< hash of all that the state depends on
  std::int64_t order = 0;         ///< elements of each whole vector
  std::int64_t generation = 1;    ///< counts the checkpoints of a folder
  std::int64_t step = 0;          ///< iterations that are done
  std::int64_t begin = 0;         ///< the elements of this file: begin ... end - 1
  std::int64_t end = 0;
  std::int32_t rank = 0;
  std::int32_t rank_count = 1;  ///< files of the checkpoint
  std::int64_t number_count = 0;
  std::uint32_t numbers_checksum = 0;
  std::uint32_t data_checksum = 0;  ///< CRC-32C of numbers and vectors
  std::uint32_t unused = 0;
  std::uint32_t checksum = 0;  ///< CRC-32C of the members before it

  [[nodiscard]] comm::IndexRange range() const { return {begin, end}; }
};
static_assert(sizeof(CheckpointHeader) == 104 && std::is_trivially_copyable_v<CheckpointHeader>);

/// The data of one file.
struct CheckpointData {
  std::span<const double> numbers;
  std::span<const std::span<const double>> vectors;  ///< each of the elements of the header's range
};

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

/// Writes a file below its name in the folder, completes the header's counts and checksums, and returns when file and name are on the
/// disk. The file has no name before it is complete, so that a kill leaves nothing; where the file system has no such files, it has a
/// temporary one that begins with a dot. Throws RunError (cannot_create, cannot_write), and leaves nothing then.
void write_checkpoint_file(const std::string& folder, CheckpointHeader header, const CheckpointData& data);
/// Writes a file without giving it a name, to learn the cost and whether it can be done.
void rehearse_checkpoint_file(const std::string& folder, CheckpointHeader header, const CheckpointData& data);

/// Reads a file; what it returns has been checked. Throws FileError with the reason.
class CheckpointReader {
 public:
  /// Checks the header, the length, and that the file is the one that this name says.
  CheckpointReader(std::string path, const CheckpointName& name);

  [[nodiscard]] const CheckpointHeader& header() const { return header_; }
  [[nodiscard]] std::vector<double> numbers() const;
  /// The wanted elements that the file has: targets[v][i - wanted.begin] := element i of vector v. Reads and checks the whole file;
  /// without targets that is all.
  void read(const comm::IndexRange& wanted, std::span<const std::span<double>> targets) const;

 private:
  void check_header(const CheckpointName& name);
  [[noreturn]] void refuse(const std::string& reason) const;

  OpenFile file_;
  CheckpointHeader header_;
};

}  // namespace cg2d
