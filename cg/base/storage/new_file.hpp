#pragma once

// A file that gets its name when it is complete, so that a kill leaves nothing half-written. No MPI.

#include <functional>
#include <string_view>

#include "cg/base/storage/unnamed_file.hpp"

namespace cg2d {

/// An UnnamedFile whose operations throw RunError (cannot_create, cannot_write). Without take_name() nothing remains, see there.
class NewFile {
 public:
  NewFile(const std::string& folder, const std::string& name);

  /// After what has been appended before.
  void append(std::span<const std::byte> bytes);
  void write_at(std::int64_t position, std::span<const std::byte> bytes) const;
  /// Bytes that have been appended.
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Asks the file system for room for so many bytes from the begin on. One that cannot promise any must have as many free. Throws
  /// RunError (cannot_create) with what is needed and what is free.
  void reserve(std::int64_t byte_count) const;
  /// Cuts the file after so many bytes.
  void end_at(std::int64_t byte_count) const;
  void put_on_disk() const;
  /// Takes its name, which no file may have, and puts it on the disk.
  void take_name();

 private:
  std::string folder_;
  std::string path_;
  UnnamedFile file_;
  std::int64_t size_ = 0;
};

/// Removes what killed processes have left in a folder under temporary names. is_mine: of the name that the file was to get. The caller
/// has locked the folder, or its place in it (FolderClaim).
void remove_unfinished_files(const std::string& folder,
                             const std::function<bool(std::string_view name)>& is_mine);

}  // namespace cg2d
