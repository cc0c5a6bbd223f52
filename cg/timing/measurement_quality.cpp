#include "cg/timing/measurement_quality.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <cstddef>
#include <fstream>

#include "cg/base/sample.hpp"

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
  // Beside one busy process a thread loses its processor 300 times in a second of its own time, for about 3 ms
  // each (Linux 6.18, 4 cores). 25 times are 7 % of the time; a quiet machine has fewer than 5.
  constexpr double most_switches_per_s = 25.0;
  constexpr double most_steal_share = 0.05;
  // A quiet machine's quartiles lie 1 to 10 % apart, and 20 % where virtual machines share its caches.
  constexpr double most_spread = 0.3;
  constexpr double percent = 100.0;
  if (!ranks_share_cores && quality.switches_per_s > most_switches_per_s) {
    return fmt::format(
        "other processes took a thread's processor {:.0f} times in a second of computing (at most {:.0f} are "
        "taken for "
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

QualityWatch::QualityWatch() : first_usage_(usage()), first_ticks_(processor_ticks()) {}

MeasurementQuality QualityWatch::quality(comm::RankGroup& group, double spread) const {
  constexpr double least_s = 1e-3;
  const auto last = usage();
  const auto switches = static_cast<double>(last.involuntary_switches - first_usage_.involuntary_switches);
  const double computed_s = std::max(last.computed_s - first_usage_.computed_s, least_s);
  const auto now = processor_ticks();
  const auto ticks = static_cast<double>(std::max<std::int64_t>(now.all - first_ticks_.all, 1));
  return {.switches_per_s = group.maximum(switches / computed_s),
          .steal_share = group.maximum(static_cast<double>(now.stolen - first_ticks_.stolen) / ticks),
          .spread = group.maximum(spread)};
}

QualityWatch::Usage QualityWatch::usage() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {.computed_s = seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
          .involuntary_switches = used.ru_nivcsw};
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
