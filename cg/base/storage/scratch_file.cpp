#include "cg/base/storage/scratch_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/storage/whole_write.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

constexpr mode_t owner_may = 0600;

}  // namespace

int open_scratch(const std::string& folder, int flags) {
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, owner_may);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return descriptor;
  const auto path = fmt::format("{}/.cg2d-scratch-{}", folder, getpid());
  const int named = open(path.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC | flags, owner_may);
  if (named >= 0) unlink(path.c_str());
  return named;
}

void cannot_create_scratch(const std::string& folder) {
  throw RunError(ExitCode::cannot_create,
                 fmt::format("cannot create a file in the folder {}: {}", folder, std::strerror(errno)));
}

void take_scratch_room(int descriptor, const FileRange& range, const std::string& folder) {
  const auto byte_count = range.end - range.begin;
  if (fallocate(descriptor, 0, static_cast<off_t>(range.begin), static_cast<off_t>(byte_count)) == 0) return;
  const int error = errno;
  if (error != ENOSPC && error != EDQUOT && error != EFBIG) return;
  throw RunError(ExitCode::cannot_create, fmt::format("not enough room in the folder {} for a file of {}: {}",
                                                      folder, format_bytes(range.end), std::strerror(error)));
}

ScratchFile::ScratchFile(std::string folder, std::int64_t byte_count) : folder_(std::move(folder)) {
  open_in_folder();
  try {
    take_scratch_room(descriptor_, {.begin = 0, .end = byte_count}, folder_);
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
  if (descriptor_ < 0) cannot_create_scratch(folder_);
}

void ScratchFile::write_at(std::int64_t position, std::span<const std::byte> bytes) const {
  if (!write_whole(descriptor_, position, bytes)) cannot_write(folder_);
}

void ScratchFile::put_on_disk() const {
  if (fsync(descriptor_) != 0) cannot_write(folder_);
}

}  // namespace cg2d
