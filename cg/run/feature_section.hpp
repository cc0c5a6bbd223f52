#pragma once

// The part of a result's document that a feature adds, and records in it that other documents have, too.

#include <string>

#include "cg/base/json_record.hpp"
#include "cg/run/session_report.hpp"
#include "cg/solver/slow_ranks.hpp"

namespace cg2d {

/// The member `name`, which is what a feature found of that type; there only where the feature was used. meaning: for the schema.
template <typename Found>
Figure<SessionReport> section_of(const std::string& name, const Record<Found>& record,
                                 const std::string& meaning) {
  return part<SessionReport>(
      name, record, [](const SessionReport& report) { return report.features.find<Found>(); }, meaning,
      Presence::if_known);
}

/// One of --slow-rank.
const Record<SlowRank>& slow_rank_record();

}  // namespace cg2d
