#include "cg/timing/measurement_quality.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cg/base/sample.hpp"

namespace cg2d {

double spread_of_repeats(std::vector<double> seconds) {
  constexpr std::size_t fewest = 4;
  if (seconds.size() < fewest) return 0.0;
  const auto sample = sample_of(std::move(seconds));
  return (sample.upper_quartile - sample.lower_quartile) / sample.median;
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

QualityWatch::QualityWatch(SystemFolders folders)
    : folders_(std::move(folders)),
      first_usage_(system_usage(UsageScope::process)),
      first_times_(read_node_times(folders_)) {}

MeasurementQuality QualityWatch::quality(comm::RankGroup& group, double spread) const {
  constexpr double least_s = 1e-3;
  const auto usage = system_usage(UsageScope::process) - first_usage_;
  const auto switches = static_cast<double>(usage.involuntary_switches);
  const auto times = read_node_times(folders_);
  const double total_s = times.total_s - first_times_.total_s;
  const double steal_s = times.total_steal_s - first_times_.total_steal_s;
  return {.switches_per_s = group.maximum(switches / std::max(usage.processor_s(), least_s)),
          .steal_share = group.maximum(total_s > 0.0 ? steal_s / total_s : 0.0),
          .spread = group.maximum(spread)};
}

}  // namespace cg2d
