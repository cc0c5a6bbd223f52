#include "cg/base/storage/folders.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>

#include "cg/base/agreement.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

std::vector<std::string> folders_from(std::string_view option, const std::string& text) {
  if (text.empty()) return {};
  auto folders = split_at(text, ',');
  if (std::ranges::count(folders, "") > 0)
    throw InputError(
        fmt::format("{} {}: must be folders on local storage, such as /scratch1,/scratch2", option, text));
  return folders;
}

void cannot_create_in(const std::string& folder) {
  throw RunError(ExitCode::cannot_create,
                 fmt::format("cannot create a file in the folder {}: {}", folder, std::strerror(errno)));
}

FolderRoom folder_room(const std::string& folder) {
  struct stat facts {};
  struct statvfs room {};
  if (stat(folder.c_str(), &facts) != 0 || statvfs(folder.c_str(), &room) != 0) cannot_create_in(folder);
  return {
      .device = static_cast<std::uint64_t>(facts.st_dev),
      .available_bytes = saturated(static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize))};
}

void require_room(const RoomNeeded& needed, comm::RankGroup& group) {
  struct Share {
    int node = 0;
    FolderRoom room{};
    std::int64_t byte_count = 0;
  };
  Share mine{.node = needed.node, .byte_count = needed.byte_count};
  agree_on(group, [&] { mine.room = folder_room(needed.folder); });
  std::int64_t sum = 0;
  for (const auto& share : group.gather_one(mine)) {
    if (share.node == mine.node && share.room.device == mine.room.device)
      sum = saturated_sum(sum, share.byte_count);
  }
  agree_on(group, [&] {
    if (sum <= mine.room.available_bytes) return;
    throw RunError(
        ExitCode::cannot_create,
        fmt::format("{} {}: not enough room: {} are needed on its device, {} are available", needed.option,
                    needed.folder, format_bytes(sum), format_bytes(mine.room.available_bytes)));
  });
}

}  // namespace cg2d
