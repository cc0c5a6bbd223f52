#pragma once

// Chunks of data in an unlinked temporary file: for data that is larger than memory, and ends with the process. No MPI.

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/base/storage/scratch_file.hpp"

namespace cg2d {

/// Keeps of each chunk the CRC-32C of what was put, and compares it with what comes back: a device that loses data after it has taken them
/// (thin-provisioned and full, an error when the system's cache is written back) says so to nobody who does not ask. The file goes through
/// that cache. Nothing is left of it, whatever ends the process.
class ScratchChunks {
 public:
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 16;

  /// Throws RunError (cannot_create).
  explicit ScratchChunks(std::string folder) : file_(std::move(folder), FileCaching::cached) {}

  /// The number of a new chunk, which must be put before it is taken back. Throws RunError (cannot_create) where the device has no room.
  std::size_t add();
  /// chunk_bytes bytes, in place of what was put before. Throws RunError (cannot_write).
  void put(std::size_t chunk, std::span<const std::byte> bytes);
  /// The bytes that were put last. Throws RunError: cannot_write for an error of the device (74), bad_data where it gives others (65).
  void get(std::size_t chunk, std::span<std::byte> bytes) const;
  /// The bytes that were put last, for access here and there. Valid until 64 other chunks have been looked
  /// at, or this one is put.
  std::span<const std::byte> look_at(std::size_t chunk);

 private:
  struct KnownChunk {
    std::size_t chunk = 0;
    std::vector<std::byte> bytes{};
  };

  [[noreturn]] void fail(std::string_view what, std::size_t chunk, int error) const;
  [[noreturn]] void fail_by_damage(std::size_t chunk) const;

  ScratchFile file_;
  std::size_t chunks_with_room_ = 0;
  std::vector<std::uint32_t> checksums_;
  std::list<KnownChunk> known_;  // looked at, the last one first
};

}  // namespace cg2d
