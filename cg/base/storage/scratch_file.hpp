#pragma once

// An unlinked temporary file, for data that ends with the process. No MPI.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

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

}  // namespace cg2d
