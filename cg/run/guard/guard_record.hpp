#pragma once

// The findings of a guard in a result: its sections, and its lines.

#include <string>

#include "cg/base/json_record.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/guard/guard_report.hpp"

namespace cg2d {

/// One check of a guard, by its place among all.
struct SeenCheck {
  const GuardReport& guard;
  std::size_t check = 0;
};

const Record<SeenCheck>& guard_check_record();              ///< guard_check
const Record<GuardReport>& guard_record(WorkKind kind);     ///< guard; places are other ones in a solve
const Record<GuardReport>& injected_record(WorkKind kind);  ///< injected
/// The members of a result: guard where there were checks, injected where faults were made.
Record<SessionReport> guard_sections(WorkKind kind);
/// Faults, checks and detections, a line for each.
std::string guard_text(const GuardReport& guard);

}  // namespace cg2d
