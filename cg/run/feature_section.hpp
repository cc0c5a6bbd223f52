#pragma once

// The part of a result's document that a feature adds.

#include <string>

#include "cg/base/json_record.hpp"
#include "cg/run/session_report.hpp"

namespace cg2d {

/// The member `name`, which is what a feature found of that type; there only where the feature was used. `record` must outlive it.
template <typename Found>
Figure<SessionReport> section_of(const std::string& name, const Record<Found>& record) {
  const auto value = [&record](const SessionReport& report) {
    const auto* const found = report.features.find<Found>();
    return found == nullptr ? absent() : json_of(record, *found);
  };
  return {name, defined(name), value, "", Presence::if_known};
}

}  // namespace cg2d
