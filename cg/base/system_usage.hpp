#pragma once

// The system's own account of this process: processor time, switches, page faults. Local, without MPI.

#include <cstdint>

namespace cg2d {

/// The account, as getrusage and the clocks of processor time have it: sums since the start.
struct SystemUsage {
  std::int64_t switches = 0;              ///< to another thread, voluntary and involuntary
  std::int64_t involuntary_switches = 0;  ///< switches by which the system took the processor away
  std::int64_t minor_faults = 0;
  std::int64_t major_faults = 0;
  std::int64_t processor_ns = 0;

  [[nodiscard]] double processor_s() const { return 1e-9 * static_cast<double>(processor_ns); }
};
/// The threads that an account is about: the calling one, or all of the process.
enum class UsageScope { thread, process };
/// Cost: two system calls.
SystemUsage system_usage(UsageScope scope);
/// SystemUsage::processor_ns alone. Cost: one system call.
std::int64_t processor_ns(UsageScope scope);
/// The usage of an interval.
SystemUsage operator-(const SystemUsage& later, const SystemUsage& earlier);

}  // namespace cg2d
