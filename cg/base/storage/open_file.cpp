#include "cg/base/storage/open_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cg2d {
namespace {

/// After a failed transfer: whether it is to be tried again, since the file was open for transfers past the system's cache (O_DIRECT), which its
/// file system has refused (EINVAL). From now on it goes through the cache.
bool gives_up_direct(int descriptor) {
  if (errno != EINVAL) return false;
  const int flags = fcntl(descriptor, F_GETFL);
  const bool is_direct = flags >= 0 && (flags & O_DIRECT) != 0;
  errno = EINVAL;
  return is_direct && fcntl(descriptor, F_SETFL, flags & ~O_DIRECT) == 0;
}

}  // namespace

Descriptor::~Descriptor() {
  const int error = errno;
  if (is_open()) close(number_);
  errno = error;
}

bool write_all(int descriptor, std::string_view text) {
  constexpr int forever = -1;
  while (!text.empty()) {
    const auto count = ::write(descriptor, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (count == 0) {
      errno = ENOSPC;
      return false;
    } else if (errno == EAGAIN) {  // a pipe that a launcher has made non-blocking
      pollfd wanted{.fd = descriptor, .events = POLLOUT, .revents = 0};
      poll(&wanted, 1, forever);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool write_whole(int descriptor, int64_t position, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (count < 0 && (errno == EINTR || gives_up_direct(descriptor))) continue;
    if (count == 0) errno = ENOSPC;
    if (count <= 0) return false;
    position += count;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

std::optional<size_t> read_whole(int descriptor, int64_t position, std::span<std::byte> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const auto rest = bytes.subspan(done);
    const auto count =
        pread(descriptor, rest.data(), rest.size(), static_cast<off_t>(position) + static_cast<off_t>(done));
    if (count < 0 && (errno == EINTR || gives_up_direct(descriptor))) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

bool put_on_device(int descriptor) {
  return fsync(descriptor) == 0 || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS;
}

namespace {

[[noreturn]] void cannot_read(const std::string& path) {
  const int reason = errno;
  throw FileError(
      path, reason == ENOENT ? "no such file" : fmt::format("cannot be read: {}", std::strerror(reason)));
}

}  // namespace

// Without O_NONBLOCK a pipe that nobody writes to would hold the process here.
OpenFile::OpenFile(std::string path)
    : path_(std::move(path)), file_(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!file_.is_open()) cannot_read(path_);
  struct stat status {};
  const bool is_known = fstat(file_.number(), &status) == 0;
  if (is_known && S_ISREG(status.st_mode)) {
    size_ = status.st_size;
    return;
  }
  refuse(is_known && S_ISDIR(status.st_mode)
             ? "found a directory, expected a file"
             : "found a pipe or a device, expected a file, which every rank can open");
}

size_t OpenFile::read_at(int64_t position, std::span<std::byte> bytes) const {
  const auto count = read_whole(file_.number(), position, bytes);
  if (!count) cannot_read(path_);
  return *count;
}

void require_mark(const OpenFile& file, size_t header_bytes, const FileFormat& format) {
  if (file.size() < static_cast<int64_t>(header_bytes))
    file.refuse("found {} bytes, expected a header of {}", file.size(), header_bytes);
  FileMark mark;
  static_cast<void>(file.fill(0, std::span(&mark, 1)));
  if (mark.magic != format.mark.magic)
    file.refuse("found other first bytes, expected those of {}", format.content);
  if (mark.byte_order != format.mark.byte_order)
    file.refuse("found another order of bytes, expected {} of such a machine as this", format.content);
  if (mark.version != format.mark.version)
    file.refuse("found version {} of the format, expected {}{}", mark.version, format.mark.version,
                format.remedy);
}

bool has_magic(const OpenFile& file, const FileFormat& format) {
  FileMark mark;
  return file.fill(0, std::span(&mark.magic, 1)) && mark.magic == format.mark.magic;
}

}  // namespace cg2d
