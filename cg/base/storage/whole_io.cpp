#include "cg/base/storage/whole_io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace cg2d {

Descriptor::~Descriptor() {
  const int error = errno;
  if (is_open()) close(number_);
  errno = error;
}

bool write_whole(int descriptor, std::int64_t position, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (count < 0 && (errno == EINTR || gives_up_direct(descriptor))) continue;
    if (count == 0) errno = ENOSPC;
    if (count <= 0) return false;
    position += count;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

std::optional<std::size_t> read_whole(int descriptor, std::int64_t position, std::span<std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto rest = bytes.subspan(done);
    const auto count =
        pread(descriptor, rest.data(), rest.size(), static_cast<off_t>(position) + static_cast<off_t>(done));
    if (count < 0 && (errno == EINTR || gives_up_direct(descriptor))) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

bool put_on_device(int descriptor) {
  return fsync(descriptor) == 0 || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS;
}

bool gives_up_direct(int descriptor) {
  if (errno != EINVAL) return false;
  const int flags = fcntl(descriptor, F_GETFL);
  const bool is_direct = flags >= 0 && (flags & O_DIRECT) != 0;
  errno = EINVAL;
  return is_direct && fcntl(descriptor, F_SETFL, flags & ~O_DIRECT) == 0;
}

}  // namespace cg2d
