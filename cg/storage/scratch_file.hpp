#pragma once

// A file without a name, for data that ends with the process. No MPI.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cg2d {

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
  void take_room(std::int64_t byte_count) const;

  std::string folder_;
  int descriptor_ = -1;
  bool is_direct_ = true;
};

}  // namespace cg2d
