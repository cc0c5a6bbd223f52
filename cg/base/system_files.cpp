#include "cg/base/system_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <locale>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

namespace fs = std::filesystem;

/// The number after a prefix, as in "cpu12"; nothing for another text.
std::optional<int> number_after(std::string_view prefix, const std::string& text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return number_from<int>(text.substr(prefix.size()));
}

/// Calls visit(number, path) for the entries "<prefix><number>" of a folder.
void visit_numbered(const std::string& folder, std::string_view prefix,
                    const std::function<void(int, const fs::path&)>& visit) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (const auto number = number_after(prefix, entry->path().filename().string()))
      visit(*number, entry->path());
  }
}

/// The first lines of one file of every processor, each text once.
std::set<std::string> texts_of_processors(const SystemFolders& folders, const std::string& file) {
  std::set<std::string> texts;
  visit_numbered(folders.sys + "/devices/system/cpu", "cpu", [&](int, const fs::path& processor) {
    std::string text;
    if (std::ifstream stream(processor / file); std::getline(stream, text) && !text.empty())
      texts.insert(text);
  });
  return texts;
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
  if (const auto processor = number_after("cpu", name)) times.steal_s[*processor] = steal / ticks_per_s;
}

}  // namespace

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
  visit_numbered(folders.proc + "/self/task", "", [&](int thread, const fs::path& path) {
    std::ifstream file(path / "schedstat");
    std::int64_t running_ns = 0;
    std::int64_t waiting_ns = 0;
    std::int64_t slice_count = 0;
    // A kernel that does not count has no file, or zeros in it.
    if (!(file >> running_ns >> waiting_ns >> slice_count) || slice_count == 0) return;
    delays[thread] = {.delay_s = static_cast<double>(waiting_ns) * 1e-9, .slice_count = slice_count};
  });
  return delays;
}

std::optional<std::string> frequency_governor(const SystemFolders& folders) {
  const auto governors = texts_of_processors(folders, "cpufreq/scaling_governor");
  if (governors.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(governors, ", "));
}

bool has_like_processors(const SystemFolders& folders) {
  return texts_of_processors(folders, "cpufreq/cpuinfo_max_freq").size() < 2;
}

std::optional<int> numa_node_count(const SystemFolders& folders) {
  int count = 0;
  visit_numbered(folders.sys + "/devices/system/node", "node", [&](int, const fs::path&) { ++count; });
  return count > 0 ? std::optional(count) : std::nullopt;
}

std::optional<std::array<double, 3>> load_average(const SystemFolders& folders) {
  // "0.20 0.18 0.12 1/80 11206": three means, runnable and existing tasks, the newest process.
  std::ifstream file(folders.proc + "/loadavg");
  file.imbue(std::locale::classic());
  std::array<double, 3> means{};
  for (auto& mean : means) file >> mean;
  return file ? std::optional(means) : std::nullopt;
}

}  // namespace cg2d
