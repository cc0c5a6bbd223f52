#include "cg/run/roofline.hpp"

#include <algorithm>
#include <optional>

#include "cg/base/agreement.hpp"
#include "cg/timing/race.hpp"
#include "kernels/machine_rates.hpp"

namespace cg2d {
namespace {

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

MachineLimits measure_limits(comm::RankGroup& group, int thread_count, std::int64_t matrix_bytes,
                             std::int64_t vector_bytes) {
  constexpr std::int64_t least_bytes = 4096;  // of a rank without rows
  MachineLimits limits;
  const auto read_rate = [&](std::int64_t byte_count, std::int64_t& footprint_bytes) {
    std::optional<kernels::ReadWork> reading;
    agree_on(group, [&] { reading.emplace(thread_count, std::max(byte_count, least_bytes)); });
    footprint_bytes = reading->byte_count();
    return static_cast<double>(footprint_bytes) *
           common_pass_rate(group, [&](std::int64_t pass_count) { return reading->read(pass_count); });
  };
  limits.matrix_bytes_per_s = read_rate(matrix_bytes, limits.matrix_footprint_bytes);
  limits.vector_bytes_per_s = read_rate(vector_bytes, limits.vector_footprint_bytes);
  const kernels::ArithmeticWork arithmetic(thread_count);
  limits.flops_per_s =
      static_cast<double>(arithmetic.flop_count()) *
      common_pass_rate(group, [&](std::int64_t pass_count) { return arithmetic.compute(pass_count); });
  return limits;
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
