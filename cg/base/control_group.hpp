#pragma once

// Limits of the control groups that this process is in (cgroups(7)): those of its own group and of all above it.

#include <cstdint>
#include <optional>
#include <string>

namespace cg2d {

/// The number after `key` in the first line of a file that begins with it; an empty key takes the first number
/// of the file. Empty where there is none.
std::optional<std::int64_t> number_in_file(const std::string& path, const std::string& key);

struct ControlGroupLimits {
  /// Bytes that the tightest group still allows; empty without a limit. Page cache counts as allowed: the system
  /// takes it back when memory gets short.
  std::optional<std::int64_t> available_bytes;
  /// The limit of that group, bytes.
  std::optional<std::int64_t> limit_bytes;
  /// The least quota of processor time, in processors; empty without one.
  std::optional<double> processors;
};

/// Files of the system. Tests make trees of their own.
struct ControlGroupFiles {
  std::string membership = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

/// Reads both versions of the interface. What cannot be read is no limit.
ControlGroupLimits control_group_limits(const ControlGroupFiles& files = {});

}  // namespace cg2d
