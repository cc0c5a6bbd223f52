#include "cg/base/storage/open_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cg2d {
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

std::size_t OpenFile::read_at(std::int64_t position, std::span<std::byte> bytes) const {
  const auto count = read_whole(file_.number(), position, bytes);
  if (!count) cannot_read(path_);
  return *count;
}

}  // namespace cg2d
