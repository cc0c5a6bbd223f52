#pragma once

// Bytes in memory under a path, for parsers that open files.

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/promise.hpp"

namespace cg2d::fuzz {

/// An unlinked temporary file on any disk, as long as the object lives. The system's file is used again by the next object: making one takes
/// longer than parsing a short input.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(taken()) {
    const auto written = ::pwrite(descriptor_, bytes.data(), bytes.size(), 0);
    promise(written == static_cast<ssize_t>(bytes.size()), "a file in memory takes the input");
    promise(::ftruncate(descriptor_, written) == 0, "a file in memory is as long as the input");
  }
  ~MemoryFile() { unused().push_back(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  static std::vector<int>& unused() {
    static std::vector<int> descriptors;
    return descriptors;
  }
  static int taken() {
    if (unused().empty()) unused().push_back(::memfd_create("input", MFD_CLOEXEC));
    const int descriptor = unused().back();
    unused().pop_back();
    promise(descriptor >= 0, "the system gives a file in memory");
    return descriptor;
  }

  int descriptor_;
};

}  // namespace cg2d::fuzz
