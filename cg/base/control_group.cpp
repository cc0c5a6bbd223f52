#include "cg/base/control_group.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// Files of a group's memory, in one version of the interface. In version 1 the statistics of a group have those
/// of its children under "total_...".
struct MemoryFiles {
  std::string_view limit;
  std::string_view used;
  std::array<std::string_view, 2> page_cache;  ///< keys in memory.stat
};
constexpr MemoryFiles memory_files_v1{.limit = "/memory.limit_in_bytes",
                                      .used = "/memory.usage_in_bytes",
                                      .page_cache = {"total_inactive_file ", "total_active_file "}};
constexpr MemoryFiles memory_files_v2{
    .limit = "/memory.max", .used = "/memory.current", .page_cache = {"inactive_file ", "active_file "}};

template <typename Number>
void take_least(std::optional<Number>& least, Number value) {
  least = std::min(least.value_or(value), value);
}

/// The folders of a group and of all above it, up to the root. The group of a process in a container may be
/// known only outside: then the root, where the container sees its own limits, is all there is.
std::vector<std::string> folders_up_from(const std::string& root, std::string path) {
  std::vector<std::string> folders;
  if (path.find("/..") != std::string::npos) path.clear();
  for (;;) {
    while (path.ends_with('/')) path.pop_back();
    folders.push_back(root + path);
    if (path.empty()) return folders;
    const auto slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
}

void record_memory(const std::string& folder, const MemoryFiles& files, ControlGroupLimits& limits) {
  const auto limit = number_in_file(folder + std::string(files.limit), "");
  const auto used = number_in_file(folder + std::string(files.used), "");
  if (!limit || !used) return;
  std::int64_t cached = 0;
  for (const auto key : files.page_cache)
    cached += number_in_file(folder + "/memory.stat", std::string(key)).value_or(0);
  const auto available = *limit - std::max<std::int64_t>(0, *used - cached);
  if (limits.available_bytes && *limits.available_bytes <= available) return;
  limits.available_bytes = available;
  limits.limit_bytes = *limit;
}

void record_quota(std::optional<std::int64_t> quota, std::optional<std::int64_t> period,
                  ControlGroupLimits& limits) {
  if (quota && period && *quota > 0 && *period > 0)
    take_least(limits.processors, static_cast<double>(*quota) / static_cast<double>(*period));
}

/// cpu.max: "200000 100000", or "max 100000" without a limit.
void note_quota_v2(const std::string& folder, ControlGroupLimits& limits) {
  std::ifstream file(folder + "/cpu.max");
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (file >> quota >> period) record_quota(quota, period, limits);
}

void note_quota_v1(const std::string& folder, ControlGroupLimits& limits) {
  record_quota(number_in_file(folder + "/cpu.cfs_quota_us", ""),
               number_in_file(folder + "/cpu.cfs_period_us", ""), limits);
}

}  // namespace

std::optional<std::int64_t> number_in_file(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream rest(line.substr(key.size()));
    std::int64_t number = 0;
    if (rest >> number) return number;
  }
  return std::nullopt;
}

ControlGroupLimits control_group_limits(const ControlGroupFiles& files) {
  ControlGroupLimits limits;
  std::ifstream groups(files.membership);
  // "0::/path" in version 2, "4:memory:/path" in version 1.
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = split_at(line.substr(first + 1, second - first - 1), ',');
    const std::string path = line.substr(second + 1);
    if (controllers.front().empty()) {
      for (const auto& folder : folders_up_from(files.root, path)) {
        record_memory(folder, memory_files_v2, limits);
        note_quota_v2(folder, limits);
      }
    } else if (std::ranges::count(controllers, "memory") > 0) {
      for (const auto& folder : folders_up_from(files.root + "/memory", path))
        record_memory(folder, memory_files_v1, limits);
    } else if (std::ranges::count(controllers, "cpu") > 0) {
      for (const auto& folder : folders_up_from(files.root + "/cpu", path)) note_quota_v1(folder, limits);
    }
  }
  return limits;
}

}  // namespace cg2d
