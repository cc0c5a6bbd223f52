#pragma once

// Bytes in memory under a path, for parsers that open files.

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "fuzz/promise.hpp"

namespace cg2d::fuzz {

/// A file without a name on any disk, as long as the object lives.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("input", MFD_CLOEXEC)) {
    promise(descriptor_ >= 0, "the system gives a file in memory");
    const auto written = ::pwrite(descriptor_, bytes.data(), bytes.size(), 0);
    promise(written == static_cast<ssize_t>(bytes.size()), "a file in memory takes the input");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace cg2d::fuzz
