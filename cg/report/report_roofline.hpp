#pragma once

// The limits of the machine and the share that each phase reaches, in the reports.

#include <nlohmann/json.hpp>
#include <string>

#include "cg/run/run_report.hpp"

namespace cg2d {

/// One phase in the repetition reported, means over the ranks, for the whole timed region.
struct PhaseShare {
  double byte_count = 0.0;
  double flop_count = 0.0;
  double shortest_s = 0.0;  ///< by the limits of the machine
  double measured_s = 0.0;
  /// 1 for a phase at the limit of the machine; 0 for one without work.
  [[nodiscard]] double share() const { return measured_s > 0.0 ? shortest_s / measured_s : 0.0; }
};
std::array<PhaseShare, phase_count> phase_shares(const RunReport& report);

/// Both: empty or null if the limits were not measured; for a report with at least one repeat.
std::string roofline_text(const RunReport& report);
nlohmann::ordered_json roofline_json(const RunReport& report);

}  // namespace cg2d
