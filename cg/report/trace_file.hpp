#pragma once

// A trace as a file that trace viewers open: Chrome's Trace Event Format, for Perfetto and others.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/output_file.hpp"
#include "cg/run/run_report.hpp"
#include "cg/timing/phase_trace.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The lines of one rank's bars, each after a comma: "X" events with ts and dur in microseconds to
/// the nanosecond, pid: node, tid: rank.
std::string trace_lines(const RankTrace& trace);

/// The run or solve that a trace is of: all that the head of its file says.
struct TraceOrigin {
  const Environment& environment;
  const Configuration& configuration;
  std::span<const RankResult> ranks;
  std::string arrangement;  ///< of the ranks: the grid, or "domain 1x2x2"
  bool has_grid = true;     ///< ranks have a process column and a process row
  std::vector<std::pair<std::string, std::string>> properties;  ///< others: "class", "matrix"
};

/// The origin of the trace of a run that was performed.
TraceOrigin trace_origin_of(const RunReport& report);

/// The whole file of ranks whose traces are all in this process.
std::string trace_text(const TraceOrigin& origin, std::span<const RankTrace> ranks);

/// Rank 0 receives the text of one rank after the other, and commits the file (null on the other ranks).
/// Collective. Throws RunError.
void write_trace(const TraceOrigin& origin, const RankTrace& mine, OutputFile* file, comm::RankGroup& group);

}  // namespace cg2d
