#pragma once

// The findings of a guard in a result: its sections, and its lines.

#include <string>

#include "cg/run/feature.hpp"
#include "cg/run/guard/guard_report.hpp"

namespace cg2d {

/// The members of a result: guard where there were checks, injected where faults were made.
void describe_guard(Members& m, FeatureResults& results, WorkKind kind);
/// Faults, checks and detections, a line for each.
std::string guard_text(const GuardReport& guard);

}  // namespace cg2d
