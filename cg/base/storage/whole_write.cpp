#include "cg/base/storage/whole_write.hpp"

#include <unistd.h>

#include <cerrno>

namespace cg2d {

bool write_whole(int descriptor, std::int64_t position, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENOSPC;
    if (count <= 0) return false;
    position += count;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace cg2d
