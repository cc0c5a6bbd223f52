#include "cg/base/storage/folders.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cg/base/errors.hpp"
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

}  // namespace cg2d
