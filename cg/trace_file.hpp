#pragma once

// A trace as a file that trace viewers open: Chrome's Trace Event Format, for Perfetto and others.

#include <cstdint>
#include <span>
#include <string>

#include "cg/clock_alignment.hpp"
#include "cg/output_file.hpp"
#include "cg/phase_trace.hpp"
#include "cg/report.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// One rank's part of a trace, and how to place it.
struct RankTrace {
  std::span<const TraceEvent> events;
  ClockMap clocks;
  std::uint64_t origin_clocks = 0;  ///< rank 0's clocks where the time line begins
  double ticks_per_second = 0.0;    ///< rank 0's
  int rank = 0;
  int node = 0;
};

/// The lines of one rank's bars, each with a comma in front: "X" events with ts and dur in microseconds to
/// the nanosecond, pid: node, tid: rank.
std::string trace_lines(const RankTrace& trace);

/// Rank 0 gets the text of one rank after the other, and commits the file (its own; null on the others).
/// Collective. Throws RunError.
void write_trace(const RunReport& report, const RankTrace& mine, OutputFile* file, comm::RankGroup& group);

}  // namespace cg2d
