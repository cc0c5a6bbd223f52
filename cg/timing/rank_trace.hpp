#pragma once

// One rank's recorded phases, and their place on the time line of all ranks.

#include <span>

#include "cg/timing/clock_alignment.hpp"
#include "cg/timing/phase_trace.hpp"

namespace cg2d {

/// One rank's part of a trace.
struct RankTrace {
  std::span<const TraceEvent> events;
  ClockMap clocks;
  std::uint64_t origin_clocks = 0;  ///< rank 0's clocks where the time line begins
  double ticks_per_second = 0.0;    ///< rank 0's
  int rank = 0;
  int node = 0;
};

}  // namespace cg2d
