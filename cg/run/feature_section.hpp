#pragma once

// The part of a result's document that a feature adds.

#include <string>

#include "cg/base/json_record.hpp"
#include "cg/run/session_report.hpp"

namespace cg2d {

/// The member `name`, which is what a feature found of that type; there only where the feature was used. meaning: for the schema.
template <typename Found>
Figure<SessionReport> section_of(const std::string& name, const Record<Found>& record,
                                 const std::string& meaning) {
  return part<SessionReport>(
      name, record, [](const SessionReport& report) { return report.features.find<Found>(); }, meaning,
      Presence::if_known);
}

}  // namespace cg2d
