// Sets of processors, and the topology by the files of Linux.

#include "cg/machine/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "cg/base/values.hpp"

namespace cg2d {

ProcessorSet processors_from(const std::string& list) {
  // No machine has more; a wrong text must not take all memory.
  constexpr int most_processors = 1 << 20;
  ProcessorSet processors;
  std::istringstream stream(list);
  int first = 0;
  while (stream >> first && first >= 0) {
    int last = first;
    if (stream.peek() == '-') {
      stream.ignore();
      if (!(stream >> last)) break;
    }
    for (int processor = first; processor <= std::min(last, most_processors); ++processor)
      processors.push_back(processor);
    if (stream.peek() != ',') break;
    stream.ignore();
  }
  std::ranges::sort(processors);
  processors.erase(std::unique(processors.begin(), processors.end()), processors.end());
  return processors;
}

std::string list_of(const ProcessorSet& processors) {
  std::string text;
  for (std::size_t first = 0; first < processors.size();) {
    auto last = first;
    while (last + 1 < processors.size() && processors[last + 1] == processors[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", processors[first]);
    if (last > first) text += fmt::format("-{}", processors[last]);
    first = last + 1;
  }
  return text;
}

ProcessorSet common_processors(const ProcessorSet& left, const ProcessorSet& right) {
  ProcessorSet both;
  std::ranges::set_intersection(left, right, std::back_inserter(both));
  return both;
}

ProcessorSet all_processors(const ProcessorSet& left, const ProcessorSet& right) {
  ProcessorSet all;
  std::ranges::set_union(left, right, std::back_inserter(all));
  return all;
}

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

/// One cache as a processor sees it.
struct CacheFiles {
  int level = 0;
  std::int64_t byte_count = 0;
  ProcessorSet processors;
};

/// "32K" -> 32768.
std::int64_t bytes_from(const std::string& text) {
  const auto letter = text.find_first_not_of("0123456789");
  const auto number = number_from<std::int64_t>(text.substr(0, letter)).value_or(0);
  if (letter == std::string::npos) return number;
  return text[letter] == 'M' ? number << 20 : number << 10;
}

std::vector<CacheFiles> caches_of(const fs::path& processor) {
  std::vector<CacheFiles> caches;
  for (int index = 0;; ++index) {
    const auto folder = processor / "cache" / ("index" + std::to_string(index));
    const auto type = first_line(folder / "type");
    if (type.empty()) break;
    if (type == "Instruction") continue;
    caches.push_back({.level = number_from<int>(first_line(folder / "level")).value_or(0),
                      .byte_count = bytes_from(first_line(folder / "size")),
                      .processors = processors_from(first_line(folder / "shared_cpu_list"))});
  }
  std::ranges::sort(caches, {}, &CacheFiles::level);
  return caches;
}

/// A core, and where it stands: neighbours share a package, and in it the last cache.
struct Core {
  int package = 0;
  int first_of_cache = 0;
  ProcessorSet processors;

  friend auto operator<=>(const Core&, const Core&) = default;
};

Core core_of(const fs::path& folder, int processor) {
  Core core{.package = number_from<int>(first_line(folder / "topology/physical_package_id")).value_or(0),
            .first_of_cache = 0,
            .processors = processors_from(first_line(folder / "topology/core_cpus_list"))};
  // The file's name before Linux 5.3.
  if (core.processors.empty())
    core.processors = processors_from(first_line(folder / "topology/thread_siblings_list"));
  if (core.processors.empty()) core.processors = {processor};
  const auto caches = caches_of(folder);
  if (!caches.empty() && !caches.back().processors.empty())
    core.first_of_cache = caches.back().processors.front();
  return core;
}

/// The second half of the line "model name : AMD EPYC" of /proc/cpuinfo.
std::string model_name(const SystemFolders& folders) {
  std::ifstream file(folders.proc + "/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const auto begin = line.find_first_not_of(" \t:", line.find(':'));
    return begin == std::string::npos ? "unknown" : line.substr(begin);
  }
  return "unknown";
}

}  // namespace

Topology topology_from_files(const SystemFolders& folders) {
  const fs::path all = folders.sys + "/devices/system/cpu";
  const auto online = processors_from(first_line(all / "online"));
  std::set<Core> cores;
  for (const int processor : online)
    cores.insert(core_of(all / ("cpu" + std::to_string(processor)), processor));
  Topology topology{.processor = model_name(folders), .cores = {}, .caches = {}};
  for (const auto& core : cores) topology.cores.push_back(core.processors);
  if (online.empty()) return topology;
  for (const auto& cache : caches_of(all / ("cpu" + std::to_string(online.front())))) {
    const auto core_count = std::ranges::count_if(
        topology.cores, [&](const auto& core) { return !common_processors(core, cache.processors).empty(); });
    topology.caches.push_back({.level = cache.level,
                               .byte_count = cache.byte_count,
                               .shared_by_cores = std::max(1, static_cast<int>(core_count))});
  }
  return topology;
}

}  // namespace cg2d
