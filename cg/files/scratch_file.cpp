#include "cg/stencil/scratch_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

constexpr mode_t owner_may = 0600;

/// A file without a name; where the file system has none, one whose name goes at once. -1: errno says why not.
int open_scratch(const std::string& folder, int flags) {
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, owner_may);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return descriptor;
  const auto path = fmt::format("{}/.cg2d-stencil-{}", folder, getpid());
  const int named = open(path.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC | flags, owner_may);
  if (named >= 0) unlink(path.c_str());
  return named;
}

[[noreturn]] void refuse_folder(const std::string& folder) {
  throw RunError(
      ExitCode::cannot_create,
      fmt::format("--out-of-core {}: cannot create a file in this folder: {}", folder, std::strerror(errno)));
}

}  // namespace

FolderRoom folder_room(const std::string& folder) {
  struct stat facts {};
  struct statvfs room {};
  if (stat(folder.c_str(), &facts) != 0 || statvfs(folder.c_str(), &room) != 0) refuse_folder(folder);
  return {
      .device = static_cast<std::uint64_t>(facts.st_dev),
      .available_bytes = saturated(static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize))};
}

ScratchFile::ScratchFile(std::string folder, std::int64_t byte_count) : folder_(std::move(folder)) {
  open_in_folder();
  try {
    take_room(byte_count);
  } catch (const RunError&) {
    close(descriptor_);
    throw;
  }
}

ScratchFile::~ScratchFile() { close(descriptor_); }

void ScratchFile::open_in_folder() {
  descriptor_ = open_scratch(folder_, O_DIRECT);
  if (descriptor_ < 0 && errno == EINVAL) {
    is_direct_ = false;
    descriptor_ = open_scratch(folder_, 0);
  }
  if (descriptor_ < 0) refuse_folder(folder_);
}

/// Where the file system cannot promise room, nothing is done.
void ScratchFile::take_room(std::int64_t byte_count) const {
  if (fallocate(descriptor_, 0, 0, static_cast<off_t>(byte_count)) == 0) return;
  const int error = errno;
  if (error != ENOSPC && error != EDQUOT && error != EFBIG) return;
  throw RunError(ExitCode::cannot_create,
                 fmt::format("--out-of-core {}: not enough room for a file of {}: {}", folder_,
                             format_bytes(byte_count), std::strerror(error)));
}

}  // namespace cg2d
