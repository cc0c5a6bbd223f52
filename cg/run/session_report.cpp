#include "cg/run/session_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cg2d {
namespace {

/// Share of the timed region that takes clocks_of(rank, times), mean over ranks.
template <typename Clocks>
double mean_share(const RepeatReport& repeat, const Clocks& clocks_of) {
  double sum = 0.0;
  for (std::size_t rank = 0; rank < repeat.ranks.size(); ++rank) {
    const auto& times = repeat.ranks[rank];
    sum += clocks_of(rank, times) / static_cast<double>(times.region_clocks);
  }
  return sum / static_cast<double>(repeat.ranks.size());
}

}  // namespace

std::string doubt_about(const CounterResult& counters, const RepeatReport& repeat, std::size_t event) {
  const auto& name = counters.counted[event];
  const bool counted_any =
      std::ranges::any_of(repeat.counts, [&](const auto& rank) { return rank.region[event] != 0; });
  // There may rightly be no software events; those of the processor would have happened.
  if (counted_any || find_software_event(name) != nullptr) return {};
  return fmt::format("{} counted nothing in the timed region: the processor may not have it (cg2d events)",
                     name);
}

double achieved_speed(std::span<const RankResult> ranks, const RepeatReport& repeat) {
  double nonzeros = 0.0;
  double slowest_s = 0.0;
  double product_count = 0.0;
  for (std::size_t rank = 0; rank < repeat.ranks.size(); ++rank) {
    const auto& phases = repeat.ranks[rank].phases;
    nonzeros += static_cast<double>(ranks[rank].nonzero_count);
    product_count = static_cast<double>(phases.at(index_of(Phase::summation)).calls);
    slowest_s = std::max(slowest_s, static_cast<double>(phases.at(index_of(Phase::multiply)).clocks) /
                                        ranks[rank].ticks_per_second);
  }
  return slowest_s > 0.0 ? nonzeros * product_count / slowest_s : 0.0;
}

double phase_coverage(const RepeatReport& repeat) {
  return mean_share(repeat, [](std::size_t, const RankTimes& times) {
    std::uint64_t clocks = 0;
    for (const auto& record : times.phases) clocks += record.clocks;
    return static_cast<double>(clocks);
  });
}

double timing_share(std::span<const RankResult> ranks, const RepeatReport& repeat) {
  return mean_share(repeat, [&](std::size_t rank, const RankTimes& times) {
    std::uint64_t readings = times.wait_count;
    for (const auto& record : times.phases) readings += record.calls;
    return static_cast<double>(readings) * ranks[rank].clocks_per_scope;
  });
}

}  // namespace cg2d
