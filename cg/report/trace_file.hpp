#pragma once

// A trace as a file that trace viewers open: Chrome's Trace Event Format, for Perfetto and others.

#include <string>

#include "cg/base/output_file.hpp"
#include "cg/run/run_report.hpp"
#include "cg/timing/phase_trace.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The lines of one rank's bars, each after a comma: "X" events with ts and dur in microseconds to
/// the nanosecond, pid: node, tid: rank.
std::string trace_lines(const RankTrace& trace);

/// Rank 0 receives the text of one rank after the other, and commits the file (null on the other ranks).
/// Collective. Throws RunError.
void write_trace(const RunReport& report, const RankTrace& mine, OutputFile* file, comm::RankGroup& group);

}  // namespace cg2d
