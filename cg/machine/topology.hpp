#pragma once

// Cores and caches of this node by hwloc, and sets of its processors.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cg2d {

/// Numbers of logical processors, rising.
using ProcessorSet = std::vector<int>;

/// "0-3,8" -> 0, 1, 2, 3, 8. Empty for an empty text.
ProcessorSet processors_from(const std::string& list);
/// 0, 1, 2, 3, 8 -> "0-3,8".
std::string list_of(const ProcessorSet& processors);

ProcessorSet common_processors(const ProcessorSet& left, const ProcessorSet& right);
ProcessorSet all_processors(const ProcessorSet& left, const ProcessorSet& right);

/// One cache level of a processor.
struct CacheInfo {
  int level = 0;
  std::int64_t byte_count = 0;
  int shared_by_cores = 0;
};

struct Topology {
  std::string processor = "unknown";  ///< model name
  /// The logical processors of each core that is online, neighbours in the topology beside each other.
  std::vector<ProcessorSet> cores;
  std::vector<CacheInfo> caches;  ///< data and unified caches, one of each level
  std::optional<int> numa_nodes;
  /// False where kinds of them differ: then a loop takes longer on some of them.
  bool has_like_processors = true;
};

/// Topology of the calling rank's node; no cores where nothing is known. Local. Cost: some milliseconds.
Topology machine_topology();

}  // namespace cg2d
