#pragma once

// The files by which the kernel counts software events (perf_event_open).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cg/base/system_usage.hpp"
#include "cg/timing/events.hpp"

namespace cg2d {

/// The modes in which an event is counted.
struct CountedModes {
  bool user = true;
  bool kernel = true;
};

/// Counts events of the calling thread at the kernel. Of this thread alone: all files are one group, which is
/// read at once. Of the threads, too, that it makes afterwards: each file is read by itself, since the kernel
/// reads no group of inherited events. Not thread-safe.
class KernelCounters {
 public:
  explicit KernelCounters(UsageScope scope) : scope_(scope) {}
  ~KernelCounters();
  KernelCounters(const KernelCounters&) = delete;
  KernelCounters& operator=(const KernelCounters&) = delete;

  /// Begins to count event number PERF_COUNT_SW_...; false, with the reason in errno: it cannot be opened. At most
  /// as many events as CounterValues has. It is counted until the end.
  [[nodiscard]] bool add(std::uint64_t event_number, const CountedModes& modes);
  [[nodiscard]] std::size_t size() const { return files_.size(); }

  /// The counts so far, in the order of add(); the first size() of the values are written. Cost: 0.65 us for a
  /// group of 3, 0.45 us for each file that is read by itself (AMD EPYC of family 26, virtual, 2026-11).
  void read(CounterValues& values) const noexcept;

 private:
  UsageScope scope_;
  std::vector<int> files_;
};

/// The reason why add() fails, from its errno, with a remedy.
std::string why_not_opened(int error);

}  // namespace cg2d
