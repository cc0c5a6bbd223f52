#pragma once

// An unlinked temporary file, for data that ends with the process, and chunks of data in one. No MPI.

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/storage/unnamed_file.hpp"

namespace cg2d {

/// Bytes begin ... end-1 of a file.
struct FileRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Whether reading and writing go past the system's cache, where the file system can do that.
enum class FileCaching { direct, cached };

/// Open for reading and writing. Nothing is left of it, whatever ends the process.
class ScratchFile {
 public:
  /// Takes the room for so many bytes at once. Throws RunError (cannot_create): the folder will not do, or its device has less room.
  ScratchFile(std::string folder, FileCaching caching, std::int64_t byte_count = 0);

  [[nodiscard]] const UnnamedFile& file() const { return file_; }
  [[nodiscard]] bool is_direct() const;
  [[nodiscard]] const std::string& folder() const { return folder_; }

  /// Takes the room for these bytes. Where the file system cannot promise any, nothing is done. Throws RunError (cannot_create).
  void take_room(const FileRange& range) const;
  /// Direct: position, size and address must be multiples of the page size. Throws RunError (cannot_write).
  void write_at(std::int64_t position, std::span<const std::byte> bytes) const;
  /// Throws RunError (cannot_write).
  void put_on_disk() const;

 private:
  std::string folder_;
  UnnamedFile file_;
};

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
