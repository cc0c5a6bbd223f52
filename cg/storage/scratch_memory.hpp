#pragma once

// Memory that lies in a file without a name: for data that is larger than memory, and ends with the process. No MPI.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cg2d {

/// The process holds the pages that it has touched since they were set aside; beyond that the system keeps as much as it has room for,
/// and writes the rest to the folder's device. Nothing is left of the file, whatever ends the process. A device that fails while a page
/// is brought back ends the process by a signal (SIGBUS).
class ScratchMemory {
 public:
  /// Throws RunError (cannot_create).
  explicit ScratchMemory(std::string folder);
  ~ScratchMemory();
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;

  /// Zeroed bytes; a multiple of the page size. They are there until the object is gone. Throws RunError (cannot_create) where the device
  /// has no room for them, std::bad_alloc where the address space has none.
  std::span<std::byte> take(std::size_t byte_count);
  /// Bytes that are not needed soon: they leave the process, and keep their contents. Whole pages of what take() gave.
  void set_aside(std::span<const std::byte> bytes) const;

 private:
  struct Part {
    std::span<std::byte> bytes{};
    std::int64_t position = 0;  // in the file
  };

  std::string folder_;
  int descriptor_ = -1;
  std::int64_t byte_count_ = 0;
  std::vector<Part> parts_;
};

}  // namespace cg2d
