#include "cg/base/named_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"

namespace cg2d {
namespace {

bool only_reads(FileUse use) { return use == FileUse::reads || use == FileUse::reads_first; }

bool may_share(FileUse a, FileUse b) {
  if (only_reads(a) && only_reads(b)) return true;
  if (a == FileUse::folder && b == FileUse::folder) return true;
  return std::minmax(a, b) == std::minmax(FileUse::reads_first, FileUse::writes_last);
}

}  // namespace

std::string file_identity(const std::string& path) {
  if (path.empty() || path == standard_output_name) return path;
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    const bool is_other = !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
    return is_other ? std::string() : fmt::format("{}:{}", status.st_dev, status.st_ino);
  }
  auto target = path;
  try {
    target = output_target(path);
  } catch (const RunError&) {
    // Whoever opens the file says what is wrong with its links.
  }
  std::error_code error;
  const auto absolute = std::filesystem::weakly_canonical(std::filesystem::absolute(target), error);
  // A folder's name may end with a slash.
  return absolute.has_filename() ? absolute.string() : absolute.parent_path().string();
}

void require_files_on_disk(std::span<const FileOption> options) {
  for (const auto& [option, path, use] : options) {
    if (path != standard_output_name) continue;
    if (use == FileUse::updates) {
      throw InputError("{} -: this file is read, too, and standard output cannot be; name a file", option);
    }
    if (use == FileUse::folder || use == FileUse::fills)
      throw InputError("{} -: must be a folder, and standard output is none; name one", option);
  }
}

void require_different_files(std::span<const FileOption> options) {
  for (size_t first = 0; first < options.size(); ++first) {
    for (size_t second = first + 1; second < options.size(); ++second) {
      const auto& a = options[first];
      const auto& b = options[second];
      if (a.path.empty() || b.path.empty() || may_share(a.use, b.use)) continue;
      if (const auto identity = file_identity(a.path); identity.empty() || identity != file_identity(b.path))
        continue;
      const auto& [writer, other] = only_reads(a.use) ? std::pair(b, a) : std::pair(a, b);
      throw InputError("{} and {} name the same file, {}: give each its own", writer.option, other.option,
                       writer.path);
    }
  }
}

}  // namespace cg2d
