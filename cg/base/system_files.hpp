#pragma once

// The system's own figures about this process and its node: processor time, load, settings, limits; from system calls and the files of
// Linux below /proc and /sys. Local, without MPI. A file that is missing leaves its figure empty.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace cg2d {

/// The number after `key` in the first line of a file that begins with it; an empty key takes the first number
/// of the file. Empty where there is none.
std::optional<int64_t> number_in_file(const std::string& path, const std::string& key);

/// Folders of the system's files; tests have trees of their own.
struct SystemFolders {
  std::string proc = "/proc";
  std::string sys = "/sys";
};

struct ControlGroupLimits {
  /// Bytes that the tightest group still allows; empty without a limit. Page cache counts as allowed: the system
  /// takes it back when memory gets short.
  std::optional<int64_t> available_bytes;
  /// The limit of that group, bytes.
  std::optional<int64_t> limit_bytes;
  /// The least quota of processor time, in processors; empty without one.
  std::optional<double> processors;
};

/// Reads both versions of the interface. What cannot be read is no limit.
ControlGroupLimits control_group_limits(const SystemFolders& system = {});

/// The account, as getrusage and the clocks of processor time have it: sums since the start.
struct SystemUsage {
  int64_t switches = 0;              ///< to another thread, voluntary and involuntary
  int64_t involuntary_switches = 0;  ///< switches by which the system took the processor away
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  int64_t page_faults = 0;  ///< minor and major
  int64_t processor_ns = 0;
};
/// The threads that an account is about: the calling one, or all of the process.
enum class UsageScope { thread, process };
/// Cost: two system calls.
SystemUsage system_usage(UsageScope scope);

/// Sums since the node started: the load of an interval is the difference of two.
struct NodeTimes {
  double busy_s = 0.0;            ///< all processors together: user, nice, system (proc(5), /proc/stat)
  std::map<int, double> steal_s;  ///< steal time by processor
};
NodeTimes read_node_times(const SystemFolders& folders = {});

/// A thread's waiting for a processor since its start (sched-stats.rst, /proc/<pid>/schedstat).
struct ThreadDelay {
  double delay_s = 0.0;     ///< runnable, but not running
  int64_t slice_count = 0;  ///< times that it got a processor
};
/// The delays of all threads of this process, by their ids; empty where the kernel does not count.
std::map<int, ThreadDelay> read_thread_delays(const SystemFolders& folders = {});

/// The governor of the first processor's frequency, such as "performance"; empty where there is none, as in most virtual machines.
std::optional<std::string> frequency_governor(const SystemFolders& folders = {});

}  // namespace cg2d
