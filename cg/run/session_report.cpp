#include "cg/run/session_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cg2d {
namespace {

/// Share of the timed region that takes clocks_of(rank, times), mean over ranks.
template <typename Clocks>
double mean_share(const RepeatReport& repeat, const Clocks& clocks_of) {
  double sum = 0.0;
  for (size_t rank = 0; rank < repeat.ranks.size(); ++rank) {
    const auto& times = repeat.ranks[rank];
    sum += clocks_of(rank, times) / static_cast<double>(times.region_clocks);
  }
  return sum / static_cast<double>(repeat.ranks.size());
}

constexpr double read_and_written = 2.0;

/// The bytes of a phase's messages, once read and once written; 0 for a phase without messages.
double message_bytes(const RankTimes& times, const PhaseRow& phase) {
  return read_and_written * static_cast<double>(times.sent_in(phase.phase).byte_count);
}

PhaseWork work_from(const VectorWork& work, double count = 1.0, double storage_byte_count = 0.0) {
  return {.byte_count = count * static_cast<double>(work.byte_count),
          .flop_count = count * static_cast<double>(work.flop_count),
          .storage_byte_count = count * storage_byte_count};
}

/// The arithmetic of a phase, and the memory that it touches beside messages.
PhaseWork local_work(const PhaseRow& phase, const RankResult& rank, const RankTimes& times) {
  switch (phase.work) {
    case LocalWork::none:
      break;
    case LocalWork::stencil:
    case LocalWork::product: {
      // Each product is summed once; it may multiply in several parts.
      const auto counted = phase.work == LocalWork::product ? Phase::summation : phase.phase;
      return work_from(rank.product_work[index_of(phase.phase)],
                       static_cast<double>(times.phases[index_of(counted)].calls),
                       phase.phase == Phase::multiply ? rank.streamed_bytes_per_product : 0.0);
    }
    case LocalWork::additions:
      // Every element that arrives is added: as many as were sent, but for uneven pieces.
      return {.flop_count = message_bytes(times, phase) / (read_and_written * sizeof(double))};
    case LocalWork::dot_products:
      return work_from(times.dot_work);
    case LocalWork::vector_updates:
      return work_from(times.update_work);
  }
  return {};
}

}  // namespace

std::string doubt_about(const CounterResult& counters, const RepeatReport& repeat, size_t event) {
  const auto& name = counters.counted[event];
  const bool counted_any =
      std::ranges::any_of(repeat.counts, [&](const auto& rank) { return rank.region[event] != 0; });
  // There may rightly be no software events; those of the processor would have happened.
  if (counted_any || find_software_event(name) != nullptr) return {};
  return fmt::format("{} counted nothing in the timed region: the processor may not have it (cg2d events)",
                     name);
}

double phase_coverage(const RepeatReport& repeat) {
  return mean_share(repeat, [](size_t, const RankTimes& times) {
    uint64_t clocks = 0;
    for (const auto& record : times.phases) clocks += record.clocks;
    return static_cast<double>(clocks);
  });
}

double timing_share(std::span<const RankResult> ranks, const RepeatReport& repeat) {
  return mean_share(repeat, [&](size_t rank, const RankTimes& times) {
    uint64_t readings = times.wait_count;
    for (const auto& record : times.phases) readings += record.calls;
    return static_cast<double>(readings) * ranks[rank].clocks_per_scope;
  });
}

std::array<PhaseWork, phase_count> work_of(const RankResult& rank, const RankTimes& times) {
  std::array<PhaseWork, phase_count> work{};
  for (const auto& phase : phase_table()) {
    auto& own = work[index_of(phase.phase)];
    own = local_work(phase, rank, times);
    own.byte_count += message_bytes(times, phase);
  }
  return work;
}

double shortest_time_s(Phase phase, const PhaseWork& work, const MachineLimits& limits) {
  const bool reads_matrix = phase_row(phase).work == LocalWork::product;
  const double bandwidth = reads_matrix ? limits.matrix_bytes_per_s : limits.vector_bytes_per_s;
  const double storage_s =
      limits.storage_bytes_per_s > 0.0 ? work.storage_byte_count / limits.storage_bytes_per_s : 0.0;
  return std::max({work.byte_count / bandwidth, work.flop_count / limits.flops_per_s, storage_s});
}

}  // namespace cg2d
