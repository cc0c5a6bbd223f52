#include "cg/run/roofline.hpp"

#include <algorithm>

#include "cg/run/run_report.hpp"
#include "kernels/arithmetic_rate.hpp"
#include "kernels/read_bandwidth.hpp"

namespace cg2d {
namespace {

constexpr double read_and_written = 2.0;

/// The bytes of an operation's messages, once read and once written.
double moved_bytes(const RankTimes& times, comm::Operation operation) {
  return read_and_written * static_cast<double>(times.sent[static_cast<std::size_t>(operation)].byte_count);
}

}  // namespace

MachineLimits measure_limits(comm::RankGroup& group, int thread_count, std::int64_t matrix_bytes,
                             std::int64_t vector_bytes) {
  constexpr double bytes_per_gigabyte = 1e9;
  constexpr std::int64_t least_bytes = 4096;  // of a rank without rows
  MachineLimits limits;
  kernels::ReadBandwidth bandwidth(thread_count);
  group.barrier();
  limits.matrix_bytes_per_s = bytes_per_gigabyte * bandwidth.at(std::max(matrix_bytes, least_bytes));
  group.barrier();
  limits.vector_bytes_per_s = bytes_per_gigabyte * bandwidth.at(std::max(vector_bytes, least_bytes));
  group.barrier();
  limits.flops_per_s = bytes_per_gigabyte * kernels::arithmetic_rate(thread_count);
  return limits;
}

std::array<PhaseWork, phase_count> work_of(const RankResult& facts, const RankTimes& times) {
  std::array<PhaseWork, phase_count> work{};
  const auto of = [&](Phase phase) -> PhaseWork& { return work[static_cast<std::size_t>(phase)]; };
  // Each product is summed once; it may multiply in several parts.
  const auto product_count =
      static_cast<double>(times.phases[static_cast<std::size_t>(Phase::summation)].calls);
  constexpr double flops_per_nonzero = 2.0;
  of(Phase::multiply) = {
      .byte_count = product_count * static_cast<double>(facts.product_bytes),
      .flop_count = product_count * flops_per_nonzero * static_cast<double>(facts.nonzero_count)};
  of(Phase::collection).byte_count = moved_bytes(times, comm::Operation::collect);
  of(Phase::shuffle).byte_count = moved_bytes(times, comm::Operation::shuffle);
  // Received elements are added: as many as were sent, except for uneven pieces.
  const double summed = moved_bytes(times, comm::Operation::sum) / (read_and_written * sizeof(double));
  of(Phase::summation) = {.byte_count = moved_bytes(times, comm::Operation::sum), .flop_count = summed};
  of(Phase::dot) = {
      .byte_count = static_cast<double>(times.dot_work.byte_count) + moved_bytes(times, comm::Operation::dot),
      .flop_count = static_cast<double>(times.dot_work.flop_count)};
  of(Phase::vector_updates) = {.byte_count = static_cast<double>(times.update_work.byte_count),
                               .flop_count = static_cast<double>(times.update_work.flop_count)};
  return work;
}

double shortest_time_s(Phase phase, const PhaseWork& work, const MachineLimits& limits) {
  const double bandwidth = phase == Phase::multiply ? limits.matrix_bytes_per_s : limits.vector_bytes_per_s;
  return std::max(work.byte_count / bandwidth, work.flop_count / limits.flops_per_s);
}

}  // namespace cg2d
