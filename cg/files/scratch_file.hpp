#pragma once

// A file without a name, for data that ends with the process. No MPI.

#include <cstdint>
#include <string>

namespace cg2d {

/// The device of a folder.
struct FolderRoom {
  std::uint64_t device = 0;          ///< the same number for all folders on it
  std::int64_t available_bytes = 0;  ///< that this user may still take
};
/// Throws RunError (cannot_create) where there is no such folder.
FolderRoom folder_room(const std::string& folder);

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

 private:
  void open_in_folder();
  void take_room(std::int64_t byte_count) const;

  std::string folder_;
  int descriptor_ = -1;
  bool is_direct_ = true;
};

}  // namespace cg2d
