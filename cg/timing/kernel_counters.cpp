#include "cg/timing/kernel_counters.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace cg2d {

KernelCounters::~KernelCounters() {
  for (const int file : files_) close(file);
}

bool KernelCounters::add(std::uint64_t event_number, const CountedModes& modes) {
  assert(files_.size() < std::tuple_size_v<CounterValues>);
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = event_number;
  const bool is_group = scope_ == UsageScope::thread;
  attributes.inherit = is_group ? 0 : 1;
  attributes.read_format = is_group ? PERF_FORMAT_GROUP : 0;
  attributes.exclude_user = modes.user ? 0 : 1;
  attributes.exclude_kernel = modes.kernel ? 0 : 1;
  attributes.exclude_hv = 1;
  constexpr int this_thread = 0;
  constexpr int any_core = -1;
  constexpr int no_group = -1;
  const int leader = is_group && !files_.empty() ? files_.front() : no_group;
  const auto file = static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, this_thread, any_core, leader, PERF_FLAG_FD_CLOEXEC));
  if (file < 0) return false;
  files_.push_back(file);
  return true;
}

// A read of an open event returns all its bytes; otherwise the values would stand still, which the comparison
// with the system's account shows.
void KernelCounters::read(CounterValues& values) const noexcept {
  if (files_.empty()) return;
  if (scope_ == UsageScope::thread) {
    // The number of events comes before their counts.
    std::array<std::int64_t, 1 + std::tuple_size_v<CounterValues>> group{};
    if (::read(files_.front(), group.data(), sizeof group) > 0)
      std::copy_n(group.begin() + 1, files_.size(), values.begin());
    return;
  }
  for (std::size_t k = 0; k < files_.size(); ++k)
    static_cast<void>(::read(files_[k], &values[k], sizeof values[k]) == sizeof values[k]);
}

std::string why_not_opened(int error) {
  if (error != EACCES && error != EPERM) return fmt::format("the kernel: {}", std::strerror(error));
  const auto paranoid = perf_event_paranoid();
  constexpr int most_paranoid_that_counts_the_kernel = 1;
  if (paranoid && *paranoid > most_paranoid_that_counts_the_kernel) {
    return fmt::format(
        "it happens in the kernel, and kernel.perf_event_paranoid is {}: set it to 1 or less (sysctl "
        "kernel.perf_event_paranoid=1), or give the program CAP_PERFMON",
        *paranoid);
  }
  return "the system forbids perf_event_open: a container's seccomp profile may do so";
}

}  // namespace cg2d
