#include "cg/base/storage/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/storage/folder_room.hpp"
#include "cg/base/storage/whole_write.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// File systems that cannot do it (some network ones) put names on the disk at once.
void put_names_on_disk(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool is_done = descriptor >= 0 && (fsync(descriptor) == 0 || errno == EINVAL);
  if (descriptor >= 0) close(descriptor);
  if (!is_done) cannot_write(folder);
}

}  // namespace

NewFile::NewFile(const std::string& folder, const std::string& name)
    : folder_(folder), path_(folder + "/" + name) {
  // Naming a file without a name needs /proc, see open(2).
  if (access("/proc/self/fd", X_OK) == 0)
    descriptor_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, all_may_read_and_write);
  if (descriptor_ < 0) {
    temporary_path_ = fmt::format("{}/.{}-{}", folder, getpid(), name);
    descriptor_ = open(temporary_path_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC,
                       all_may_read_and_write);
    if (descriptor_ < 0) temporary_path_.clear();
  }
  if (descriptor_ < 0) cannot_create(path_);
}

NewFile::~NewFile() {
  close(descriptor_);
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

void NewFile::append(std::span<const std::byte> bytes) {
  write_at(size_, bytes);
  size_ += std::ssize(bytes);
}

void NewFile::write_at(std::int64_t position, std::span<const std::byte> bytes) const {
  if (!write_whole(descriptor_, position, bytes)) cannot_write(path_);
}

void NewFile::reserve(std::int64_t byte_count) const {
  if (fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(byte_count)) == 0) return;
  const int error = errno;
  const auto free_bytes = folder_room(folder_).available_bytes;
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  if (!is_full && byte_count <= free_bytes) return;
  throw RunError(ExitCode::cannot_create,
                 fmt::format("cannot create {}: it needs {}, and its file system has {} left for it{}", path_,
                             format_bytes(byte_count), format_bytes(free_bytes),
                             is_full ? fmt::format(" ({})", std::strerror(error)) : std::string()));
}

void NewFile::end_at(std::int64_t byte_count) const {
  if (ftruncate(descriptor_, static_cast<off_t>(byte_count)) != 0) cannot_write(path_);
}

void NewFile::put_on_disk() const {
  if (fsync(descriptor_) != 0) cannot_write(path_);
}

void NewFile::take_name() {
  if (temporary_path_.empty()) {
    const auto source = fmt::format("/proc/self/fd/{}", descriptor_);
    if (linkat(AT_FDCWD, source.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) != 0)
      cannot_write(path_);
  } else {
    if (rename(temporary_path_.c_str(), path_.c_str()) != 0) cannot_write(path_);
    temporary_path_.clear();
  }
  put_names_on_disk(folder_);
}

void remove_unfinished_files(const std::string& folder,
                             const std::function<bool(std::string_view name)>& is_mine) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto file_name = entry->path().filename().string();
    const std::string_view name = file_name;
    const auto dash = name.find('-');
    if (name.starts_with('.') && dash != std::string_view::npos && is_mine(name.substr(dash + 1)))
      unlink(entry->path().c_str());
  }
}

}  // namespace cg2d
