#include "cg/panels/panel_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/files/byte_source.hpp"

namespace cg2d {
namespace {

void make_folder(const std::string& folder) {
  constexpr mode_t all_may = 0777;  // as far as the user's mask lets them
  if (mkdir(folder.c_str(), all_may) == 0 || errno == EEXIST) return;
  throw RunError(ExitCode::cannot_create,
                 fmt::format("--out-of-core: cannot create the folder {}: {}", folder, std::strerror(errno)));
}

}  // namespace

PanelFolder::PanelFolder(std::string folder, int rank, int rank_count)
    : folder_(std::move(folder)),
      file_name_(fmt::format("{}-of-{}.panels", rank, rank_count)),
      lock_path_(fmt::format("{}/{}.lock", folder_, rank)) {
  make_folder(folder_);
  while (!holds_lock()) {
  }
  remove_leftovers();
}

/// False: another run has removed the file that was locked. Then there is a new one, or none.
bool PanelFolder::holds_lock() {
  constexpr mode_t all_may_read_and_write = 0666;
  lock_ = open(lock_path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, all_may_read_and_write);
  if (lock_ < 0) cannot_create(lock_path_);
  const bool is_locked = flock(lock_, LOCK_EX | LOCK_NB) == 0;
  const int error = errno;
  struct stat locked {};
  struct stat named {};
  if (is_locked && fstat(lock_, &locked) == 0 && stat(lock_path_.c_str(), &named) == 0 &&
      locked.st_ino == named.st_ino)
    return true;
  close(lock_);
  if (is_locked) return false;
  if (error == EWOULDBLOCK)
    throw RunError(
        ExitCode::folder_in_use,
        fmt::format("--out-of-core {}: another run uses this folder (it has locked {}); name another one",
                    folder_, lock_path_));
  errno = error;
  cannot_create(lock_path_);
}

/// The name goes first: see holds_lock().
PanelFolder::~PanelFolder() {
  unlink(lock_path_.c_str());
  close(lock_);
}

void PanelFolder::remove_leftovers() const {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (name.starts_with('.') && name.ends_with("-" + file_name_)) unlink(entry->path().c_str());
  }
}

std::unique_ptr<PanelFile> PanelFolder::existing(const PanelFileKey& key, std::string& reason) const {
  reason.clear();
  if (access(file_path().c_str(), F_OK) != 0) return nullptr;
  try {
    auto file = std::make_unique<PanelFile>(file_path());
    if (file->key() == key) return file;
    reason = file_path() + ": found another matrix, kernel or layout";
  } catch (const FileError& error) {
    reason = error.what();
  }
  return nullptr;
}

void PanelFolder::remove_file() const {
  if (unlink(file_path().c_str()) != 0 && errno != ENOENT) cannot_write(file_path());
}

}  // namespace cg2d
