#include "cg/base/storage/folders.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "cg/base/output_file.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

std::vector<std::string> folders_from(std::string_view option, const std::string& text) {
  if (text.empty()) return {};
  auto folders = split_at(text, ',');
  if (std::ranges::count(folders, "") > 0)
    throw InputError("{} {}: must be folders on local storage, such as /scratch1,/scratch2", option, text);
  return folders;
}

void cannot_create_in(const std::string& folder) {
  throw RunError(ExitCode::cannot_create, "cannot create a file in the folder {}: {}", folder,
                 std::strerror(errno));
}

FolderRoom folder_room(const std::string& folder) {
  struct stat facts {};
  struct statvfs room {};
  if (stat(folder.c_str(), &facts) != 0 || statvfs(folder.c_str(), &room) != 0) cannot_create_in(folder);
  return {
      .device = static_cast<uint64_t>(facts.st_dev),
      .available_bytes = saturated(static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize))};
}

void require_room(std::string_view option, const std::string& folder, int64_t byte_count, int node,
                  comm::RankGroup& group) {
  struct Share {
    int node = 0;
    int64_t byte_count = 0;
    FolderRoom room{};
  };
  Share mine{.node = node, .byte_count = byte_count};
  agree_on(group, [&] { mine.room = folder_room(folder); });
  int64_t sum = 0;
  for (const auto& share : group.gather_one(mine)) {
    if (share.node == mine.node && share.room.device == mine.room.device)
      sum = saturated_sum(sum, share.byte_count);
  }
  agree_on(group, [&] {
    if (sum <= mine.room.available_bytes) return;
    throw RunError(ExitCode::cannot_create,
                   "{} {}: not enough room: {} are needed on its device, {} are available", option, folder,
                   format_bytes(sum), format_bytes(mine.room.available_bytes));
  });
}

FolderClaim::FolderClaim(std::string_view option, const std::string& folder, const std::string& lock_name)
    : option_(option), folder_(folder), lock_path_(folder + "/" + lock_name) {
  std::error_code error;  // none where the folder is there
  std::filesystem::create_directory(folder, error);
  if (error)
    throw RunError(ExitCode::cannot_create,
                   "cannot create the folder {}: {}; name one for {} in a folder that can be written", folder,
                   error.message(), option);
  while (!takes_lock()) {
  }
  // For people: what cannot be written is not missed.
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  const auto text = fmt::format("process {} on {} since {:%Y-%m-%dT%H:%M:%SZ}\n", getpid(), host.data(),
                                fmt::gmtime(std::time(nullptr)));
  static_cast<void>(ftruncate(file_.number(), 0) == 0 &&
                    pwrite(file_.number(), text.data(), text.size(), 0) > 0);
}

/// False: another run has removed the file that was locked. Then there is a new one, or none.
bool FolderClaim::takes_lock() {
  file_ =
      Descriptor(open(lock_path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, all_may_read_and_write));
  if (!file_.is_open()) cannot_create(lock_path_);
  is_locked_ = flock(file_.number(), LOCK_EX | LOCK_NB) == 0;
  if (is_locked_) return leads_to(lock_path_, file_.number());
  if (errno != EWOULDBLOCK) return true;  // no locks here
  // "process 71 on node3 since 2026-11-25T12:00:00Z"; the file may not tell (yet).
  std::array<char, 512> text{};
  const bool is_told = pread(file_.number(), text.data(), text.size() - 1, 0) > 0;
  const std::string_view all = is_told ? text.data() : "it";
  throw RunError(
      ExitCode::folder_in_use,
      "{} {}: another run uses this folder ({} has locked {}); name another one, or wait for its end",
      option_, folder_, all.substr(0, all.find('\n')), lock_path_);
}

std::string FolderClaim::warning() const {
  if (is_locked_) return {};
  return fmt::format("{} {}: its file system has no locks, so nothing keeps another run out of it", option_,
                     folder_);
}

/// The name goes first: see takes_lock(). It may be that of another run, where the folder was removed meanwhile.
FolderClaim::~FolderClaim() {
  if (leads_to(lock_path_, file_.number())) unlink(lock_path_.c_str());
}

}  // namespace cg2d
