#include "cg/base/storage/folder_room.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

FolderRoom folder_room(const std::string& folder) {
  struct stat facts {};
  struct statvfs room {};
  if (stat(folder.c_str(), &facts) != 0 || statvfs(folder.c_str(), &room) != 0)
    throw RunError(ExitCode::cannot_create,
                   fmt::format("cannot create a file in the folder {}: {}", folder, std::strerror(errno)));
  return {
      .device = static_cast<std::uint64_t>(facts.st_dev),
      .available_bytes = saturated(static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize))};
}

}  // namespace cg2d
