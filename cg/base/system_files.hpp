#pragma once

// The system's own figures about this node: its load, its threads' waiting, and its settings, from the files of
// Linux below /proc and /sys. Local, without MPI. A file that is missing leaves its figure empty.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cg2d {

/// Folders of the system's files; tests have trees of their own.
struct SystemFolders {
  std::string proc = "/proc";
  std::string sys = "/sys";
};

/// Sums since the node started: the load of an interval is the difference of two.
struct NodeTimes {
  double busy_s = 0.0;            ///< all processors together: user, nice, system (proc(5), /proc/stat)
  std::map<int, double> steal_s;  ///< steal time by processor
};
NodeTimes read_node_times(const SystemFolders& folders = {});

/// A thread's waiting for a processor since its start (sched-stats.rst, /proc/<pid>/schedstat).
struct ThreadDelay {
  double delay_s = 0.0;          ///< runnable, but not running
  std::int64_t slice_count = 0;  ///< times that it got a processor
};
/// The delays of all threads of this process, by their ids; empty where the kernel does not count.
std::map<int, ThreadDelay> read_thread_delays(const SystemFolders& folders = {});

/// The governors of all processors' frequencies, such as "performance", each once; empty where there are none,
/// as in most virtual machines.
std::optional<std::string> frequency_governor(const SystemFolders& folders = {});
/// False where the processors' highest frequencies differ: then a loop takes longer on some of them.
bool has_like_processors(const SystemFolders& folders = {});
std::optional<int> numa_node_count(const SystemFolders& folders = {});
/// Runnable tasks, means of the last 1, 5 and 15 minutes.
std::optional<std::array<double, 3>> load_average(const SystemFolders& folders = {});

}  // namespace cg2d
