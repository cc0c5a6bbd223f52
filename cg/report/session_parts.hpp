#pragma once

// The parts that the documents of runs and solves share.

#include <optional>

#include "cg/base/describe.hpp"
#include "cg/report/session_document.hpp"
#include "cg/run/session_report.hpp"

namespace cg2d {

enum class WorkKind;

/// Status, reason, exit code and warnings.
void describe_end(Members& m, SessionReport& report);
/// Provenance and environment; null where the work ended before they were known.
void describe_origin(Members& m, SessionReport& report);
/// Members of a configuration: the grid, the axes, and the trials that chose them.
void describe_configuration(Members& m, SessionReport& report);
/// The block of a rank, and its memory.
void describe_block(Members& m, const SessionReport& report, RankResult& rank);
/// The sections of features that were used.
void describe_features(Members& m, SessionReport& report, WorkKind kind);
/// The findings of a region for a document.
RegionFindings findings_of(const PhaseFigures& figures);
/// phases, roofline and counters; null where there are none. figures: of what is written, nothing where no region was measured.
void describe_region(Members& m, SessionReport& report, RepeatReport& repeat, RegionFindings& found,
                     const std::optional<PhaseFigures>& figures);

}  // namespace cg2d
