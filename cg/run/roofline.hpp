#pragma once

// The roofline of every phase: its work, and the limits of this machine.

#include <array>
#include <cstdint>

#include "cg/run/session_report.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Measures on all ranks at the same time, since they share caches and memory in a run, too: a batch of all
/// ranks ends with the slowest one, see common_pass_rate(). matrix_bytes, vector_bytes: this rank's
/// footprints. Collective. Cost: about a second. Throws RunError (on every rank alike).
MachineLimits measure_limits(comm::RankGroup& group, int thread_count, std::int64_t matrix_bytes,
                             std::int64_t vector_bytes);

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
