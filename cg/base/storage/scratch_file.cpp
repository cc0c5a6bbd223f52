#include "cg/base/storage/scratch_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/storage/folders.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

ScratchFile::ScratchFile(std::string folder, FileCaching caching, std::int64_t byte_count)
    : folder_(std::move(folder)),
      file_(folder_ + "/.cg2d-scratch", FileNaming::never, caching == FileCaching::direct ? O_DIRECT : 0) {
  if (!file_.is_open()) cannot_create_in(folder_);
  if (byte_count > 0) take_room({.begin = 0, .end = byte_count});
}

void ScratchFile::take_room(const FileRange& range) const {
  const auto byte_count = range.end - range.begin;
  if (fallocate(file_.descriptor(), 0, static_cast<off_t>(range.begin), static_cast<off_t>(byte_count)) == 0)
    return;
  const int error = errno;
  if (error != ENOSPC && error != EDQUOT && error != EFBIG) return;
  throw RunError(ExitCode::cannot_create,
                 fmt::format("not enough room in the folder {} for a file of {}: {}", folder_,
                             format_bytes(range.end), std::strerror(error)));
}

void ScratchFile::write_at(std::int64_t position, std::span<const std::byte> bytes) const {
  if (!file_.write_at(position, bytes)) cannot_write(folder_);
}

void ScratchFile::put_on_disk() const {
  if (!file_.put_on_disk()) cannot_write(folder_);
}

bool ScratchFile::is_direct() const { return (fcntl(file_.descriptor(), F_GETFL) & O_DIRECT) != 0; }

}  // namespace cg2d
