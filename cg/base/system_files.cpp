#include "cg/base/system_files.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

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

void record_memory(const std::string& folder, bool is_version_2, ControlGroupLimits& limits) {
  const auto limit = number_in_file(folder + (is_version_2 ? "/memory.max" : "/memory.limit_in_bytes"), "");
  const auto used =
      number_in_file(folder + (is_version_2 ? "/memory.current" : "/memory.usage_in_bytes"), "");
  if (!limit || !used) return;
  // In version 1 the statistics of a group have those of its children under "total_...".
  int64_t cached = 0;
  for (const std::string key : {"inactive_file ", "active_file "})
    cached += number_in_file(folder + "/memory.stat", (is_version_2 ? "" : "total_") + key).value_or(0);
  const auto available = *limit - std::max<int64_t>(0, *used - cached);
  if (limits.available_bytes && *limits.available_bytes <= available) return;
  limits.available_bytes = available;
  limits.limit_bytes = *limit;
}

/// "200000 100000" in a file of version 2, "max 100000" without a limit; two files in version 1.
void record_quota(const std::string& folder, ControlGroupLimits& limits) {
  std::ifstream both(folder + "/cpu.max");
  int64_t quota = 0;
  int64_t period = 0;
  if (!(both >> quota >> period)) {
    quota = number_in_file(folder + "/cpu.cfs_quota_us", "").value_or(0);
    period = number_in_file(folder + "/cpu.cfs_period_us", "").value_or(0);
  }
  if (quota <= 0 || period <= 0) return;
  const double processors = static_cast<double>(quota) / static_cast<double>(period);
  limits.processors = std::min(limits.processors.value_or(processors), processors);
}

/// A line "cpu0 user nice system idle iowait irq softirq steal ..." of /proc/stat, in ticks. Interrupts are no
/// other process's work: messages of the run itself cause them.
void add_line(const std::string& line, double ticks_per_s, NodeTimes& times) {
  std::istringstream stream(line);
  std::string name;
  std::array<double, 8> ticks{};
  stream >> name;
  for (auto& value : ticks) stream >> value;
  const auto [user, nice, system, idle, io_wait, interrupts, soft_interrupts, steal] = ticks;
  if (name == "cpu") times.busy_s = (user + nice + system) / ticks_per_s;
  if (const auto processor = number_from<int>(name.substr(3)))
    times.steal_s[*processor] = steal / ticks_per_s;
}

}  // namespace

std::optional<int64_t> number_in_file(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream rest(line.substr(key.size()));
    int64_t number = 0;
    if (rest >> number) return number;
  }
  return std::nullopt;
}

ControlGroupLimits control_group_limits(const SystemFolders& system) {
  ControlGroupLimits limits;
  std::ifstream groups(system.proc + "/self/cgroup");
  // "0::/path" in version 2, "4:memory:/path" in version 1.
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = split_at(line.substr(first + 1, second - first - 1), ',');
    const std::string path = line.substr(second + 1);
    for (const std::string controller : {"", "memory", "cpu"}) {
      if (std::ranges::count(controllers, controller) == 0) continue;
      const auto root = system.sys + "/fs/cgroup" + (controller.empty() ? "" : "/" + controller);
      for (const auto& folder : folders_up_from(root, path)) {
        if (controller != "cpu") record_memory(folder, controller.empty(), limits);
        if (controller != "memory") record_quota(folder, limits);
      }
    }
  }
  return limits;
}

SystemUsage system_usage(UsageScope scope) {
  rusage usage{};
  timespec time{};
  getrusage(scope == UsageScope::thread ? RUSAGE_THREAD : RUSAGE_SELF, &usage);
  clock_gettime(scope == UsageScope::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &time);
  constexpr int64_t nanoseconds_per_s = 1'000'000'000;
  return {.switches = usage.ru_nvcsw + usage.ru_nivcsw,
          .involuntary_switches = usage.ru_nivcsw,
          .minor_faults = usage.ru_minflt,
          .major_faults = usage.ru_majflt,
          .page_faults = usage.ru_minflt + usage.ru_majflt,
          .processor_ns = time.tv_sec * nanoseconds_per_s + time.tv_nsec};
}

NodeTimes read_node_times(const SystemFolders& folders) {
  NodeTimes times;
  const auto ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::ifstream file(folders.proc + "/stat");
  // The lines of the processors come first; a line of interrupts can be very long.
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");)
    add_line(line, ticks_per_s, times);
  return times;
}

std::map<int, ThreadDelay> read_thread_delays(const SystemFolders& folders) {
  std::map<int, ThreadDelay> delays;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folders.proc + "/self/task", error), end;
       !error && entry != end; entry.increment(error)) {
    std::ifstream file(entry->path() / "schedstat");
    int64_t running_ns = 0;
    int64_t waiting_ns = 0;
    int64_t slice_count = 0;
    // A kernel that does not count has no file, or zeros in it.
    if (!(file >> running_ns >> waiting_ns >> slice_count) || slice_count == 0) continue;
    if (const auto thread = number_from<int>(entry->path().filename().string()))
      delays[*thread] = {.delay_s = static_cast<double>(waiting_ns) * 1e-9, .slice_count = slice_count};
  }
  return delays;
}

std::optional<std::string> frequency_governor(const SystemFolders& folders) {
  std::ifstream file(folders.sys + "/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::string text;
  if (!std::getline(file, text) || text.empty()) return std::nullopt;
  return text;
}

}  // namespace cg2d
