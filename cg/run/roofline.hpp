#pragma once

// The roofline of every phase: its work, and the limits of this machine.

#include <array>
#include <cstdint>

#include "cg/timing/phase.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

struct RankResult;
struct RankTimes;

/// The limits of one rank while all ranks work.
struct MachineLimits {
  double matrix_bytes_per_s = 0.0;          ///< reading as many bytes as the rank's matrix has, over and over
  double vector_bytes_per_s = 0.0;          ///< the same with the rank's vectors
  double flops_per_s = 0.0;                 ///< fused multiply-adds in registers
  double storage_bytes_per_s = 0.0;         ///< reading panels of a streamed matrix; 0: none is streamed
  std::int64_t matrix_footprint_bytes = 0;  ///< bytes that matrix_bytes_per_s was measured with
  std::int64_t vector_footprint_bytes = 0;  ///< bytes that vector_bytes_per_s was measured with

  /// False if no time was measured.
  [[nodiscard]] bool are_known() const { return flops_per_s > 0.0; }
};

/// Measures on all ranks at the same time, since they share caches and memory in a run, too: a batch of all
/// ranks ends with the slowest one, see common_pass_rate(). matrix_bytes, vector_bytes: this rank's
/// footprints. Collective. Cost: about a second. Throws RunError (on every rank alike).
MachineLimits measure_limits(comm::RankGroup& group, int thread_count, std::int64_t matrix_bytes,
                             std::int64_t vector_bytes);

/// The vectors of a CG step: x or q, z, r, p, and p again.
inline constexpr std::int64_t vectors_of_a_step = 5;

/// The least work of one phase of one rank in the timed region: a matrix or vector element
/// counts once for each time that an operation reads or writes it, a message once where it is read and once
/// where it is written.
struct PhaseWork {
  double byte_count = 0.0;
  double flop_count = 0.0;
  double storage_byte_count = 0.0;  ///< read from storage
};
std::array<PhaseWork, phase_count> work_of(const RankResult& rank, const RankTimes& times);

/// A lower bound for the seconds of a phase: the longest of reading from storage, moving and computing.
double shortest_time_s(Phase phase, const PhaseWork& work, const MachineLimits& limits);

}  // namespace cg2d
