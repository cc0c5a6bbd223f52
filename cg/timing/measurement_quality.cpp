#include "cg/timing/measurement_quality.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <fstream>

namespace cg2d {

double spread_of_repeats(std::vector<double> seconds) {
  constexpr std::size_t fewest = 4;
  if (seconds.size() < fewest) return 0.0;
  std::ranges::sort(seconds);
  const auto at = [&](double share) {
    return seconds[static_cast<std::size_t>(share * static_cast<double>(seconds.size() - 1))];
  };
  return (at(0.75) - at(0.25)) / sample_of(seconds).median;
}

std::string why_disturbed(const MeasurementQuality& quality, bool ranks_share_cores) {
  // Beside one busy process a thread loses its processor some 200 times a second, for about 3 ms each (Linux
  // 6.18, 4 cores). 25 times are 7 % of its time; a quiet machine has fewer than 5.
  constexpr double most_switches_per_s = 25.0;
  constexpr double most_steal_share = 0.05;
  // A quiet machine's quartiles lie 1 to 10 % apart, and 20 % where virtual machines share its caches.
  constexpr double most_spread = 0.3;
  constexpr double percent = 100.0;
  if (!ranks_share_cores && quality.switches_per_s > most_switches_per_s) {
    return fmt::format(
        "other processes took a thread's processor {:.0f} times a second (at most {:.0f} are taken for "
        "quiet)",
        quality.switches_per_s, most_switches_per_s);
  }
  if (quality.steal_share > most_steal_share) {
    return fmt::format("the hypervisor took {:.0f} % of the processors' time (at most {:.0f} %)",
                       percent * quality.steal_share, percent * most_steal_share);
  }
  if (quality.spread > most_spread) {
    return fmt::format("the repeats' quartiles lie {:.0f} % apart (at most {:.0f} %)",
                       percent * quality.spread, percent * most_spread);
  }
  return {};
}

QualityWatch::QualityWatch() : first_switches_(involuntary_switches()), first_ticks_(processor_ticks()) {}

MeasurementQuality QualityWatch::quality(comm::RankGroup& group, int thread_count, double spread) const {
  const auto switches = static_cast<double>(involuntary_switches() - first_switches_);
  const auto now = processor_ticks();
  const auto ticks = static_cast<double>(std::max<std::int64_t>(now.all - first_ticks_.all, 1));
  return {.switches_per_s = group.maximum(switches / thread_count / std::max(watch_.seconds(), 1e-3)),
          .steal_share = group.maximum(static_cast<double>(now.stolen - first_ticks_.stolen) / ticks),
          .spread = group.maximum(spread)};
}

/// Of all threads of this process.
std::int64_t QualityWatch::involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

/// The first line of /proc/stat (proc(5)): user, nice, system, idle, iowait, irq, softirq, steal. Zeros where
/// there is none.
QualityWatch::ProcessorTicks QualityWatch::processor_ticks() {
  constexpr int columns = 8;
  std::ifstream file("/proc/stat");
  std::string label;
  file >> label;
  ProcessorTicks ticks;
  std::int64_t value = 0;
  for (int column = 0; column < columns && file >> value; ++column) {
    ticks.all += value;
    if (column == columns - 1) ticks.stolen = value;
  }
  return ticks;
}

}  // namespace cg2d
