#include "cg/base/named_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"

namespace cg2d {
namespace {

bool are_same_file(const std::string& a, const std::string& b) {
  if (a == standard_output_name || b == standard_output_name) return a == b;
  std::error_code error;
  if (std::filesystem::is_other(a, error) || std::filesystem::is_other(b, error)) return false;
  if (std::filesystem::equivalent(a, b, error)) return true;  // hard links
  const auto place = [&](const std::string& path) {
    auto target = path;
    try {
      target = output_target(path);
    } catch (const RunError&) {
      // Whoever opens the file says what is wrong with its links.
    }
    auto absolute = std::filesystem::weakly_canonical(std::filesystem::absolute(target), error);
    return absolute.has_filename() ? absolute
                                   : absolute.parent_path();  // a folder's name may end with a slash
  };
  return place(a) == place(b);
}

bool only_reads(FileUse use) { return use == FileUse::reads || use == FileUse::reads_first; }

bool may_share(FileUse a, FileUse b) {
  if (only_reads(a) && only_reads(b)) return true;
  if (a == FileUse::folder && b == FileUse::folder) return true;
  return std::minmax(a, b) == std::minmax(FileUse::reads_first, FileUse::writes_last);
}

}  // namespace

void require_files_on_disk(std::span<const FileOption> options) {
  for (const auto& [option, path, use] : options) {
    if (path != standard_output_name) continue;
    if (use == FileUse::updates) {
      throw InputError(
          fmt::format("{} -: this file is read, too, and standard output cannot be; name a file", option));
    }
    if (use == FileUse::folder || use == FileUse::fills)
      throw InputError(fmt::format("{} -: must be a folder, and standard output is none; name one", option));
  }
}

void require_different_files(std::span<const FileOption> options) {
  for (std::size_t first = 0; first < options.size(); ++first) {
    for (std::size_t second = first + 1; second < options.size(); ++second) {
      const auto& a = options[first];
      const auto& b = options[second];
      if (a.path.empty() || b.path.empty() || may_share(a.use, b.use) || !are_same_file(a.path, b.path))
        continue;
      const auto& [writer, other] = only_reads(a.use) ? std::pair(b, a) : std::pair(a, b);
      throw InputError(fmt::format("{} and {} name the same file, {}: give each its own", writer.option,
                                   other.option, writer.path));
    }
  }
}

}  // namespace cg2d
