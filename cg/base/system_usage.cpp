#include "cg/base/system_usage.hpp"

#include <sys/resource.h>

#include <ctime>

namespace cg2d {
std::int64_t processor_ns(UsageScope scope) {
  timespec time{};
  clock_gettime(scope == UsageScope::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &time);
  constexpr std::int64_t nanoseconds_per_s = 1'000'000'000;
  return time.tv_sec * nanoseconds_per_s + time.tv_nsec;
}

SystemUsage system_usage(UsageScope scope) {
  rusage usage{};
  getrusage(scope == UsageScope::thread ? RUSAGE_THREAD : RUSAGE_SELF, &usage);
  return {.switches = usage.ru_nvcsw + usage.ru_nivcsw,
          .involuntary_switches = usage.ru_nivcsw,
          .minor_faults = usage.ru_minflt,
          .major_faults = usage.ru_majflt,
          .processor_ns = cg2d::processor_ns(scope)};
}

SystemUsage operator-(const SystemUsage& later, const SystemUsage& earlier) {
  return {.switches = later.switches - earlier.switches,
          .involuntary_switches = later.involuntary_switches - earlier.involuntary_switches,
          .minor_faults = later.minor_faults - earlier.minor_faults,
          .major_faults = later.major_faults - earlier.major_faults,
          .processor_ns = later.processor_ns - earlier.processor_ns};
}

}  // namespace cg2d
