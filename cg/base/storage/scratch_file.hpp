#pragma once

// A file without a name, for data that ends with the process. No MPI.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cg2d {

/// A file without a name, open for reading and writing; where the file system has none, one whose name goes at once. flags: of open(),
/// beside those. -1: errno says why not.
int open_scratch(const std::string& folder, int flags);
/// Throws RunError (cannot_create) with the folder and errno.
[[noreturn]] void cannot_create_scratch(const std::string& folder);
/// Bytes begin ... end-1 of a file.
struct FileRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
/// Takes the room for them. Where the file system cannot promise any, nothing is done. Throws RunError (cannot_create).
void take_scratch_room(int descriptor, const FileRange& range, const std::string& folder);

/// Open for reading and writing, past the system's cache where the file system can do that. Nothing is left of it, whatever ends the
/// process.
class ScratchFile {
 public:
  /// Takes the room for its bytes at once. Throws RunError (cannot_create): the folder will not do, or its device has less room.
  ScratchFile(std::string folder, std::int64_t byte_count);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] bool is_direct() const { return is_direct_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

  /// Position, size and address must be multiples of the page size. Throws RunError (cannot_write).
  void write_at(std::int64_t position, std::span<const std::byte> bytes) const;
  /// Throws RunError (cannot_write).
  void put_on_disk() const;

 private:
  void open_in_folder();

  std::string folder_;
  int descriptor_ = -1;
  bool is_direct_ = true;
};

}  // namespace cg2d
