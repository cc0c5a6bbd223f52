#pragma once

// The counted events of a run, in the reports.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cg/run/run_report.hpp"

namespace cg2d {

/// One event over all ranks in the reported repetition.
struct EventTotals {
  std::array<Spread, phase_count> phases;  ///< over the ranks
  std::array<double, phase_count> phase_totals{};
  double region_total = 0.0;
  /// Sum over the phases divided by that of the whole region; 1 if nothing was counted in the region.
  double coverage = 1.0;
};
EventTotals event_totals(const RepeatReport& repeat, std::size_t event);

/// Instructions per core cycle of all ranks, per phase (none where no cycle was counted); nothing unless both
/// PAPI_TOT_INS and PAPI_TOT_CYC are counted.
using PhaseRatios = std::array<std::optional<double>, phase_count>;
std::optional<PhaseRatios> instructions_per_cycle(const RunReport& report);
/// Events of the multiply phase per nonzero of the matrix and product, all ranks.
double per_nonzero(const RunReport& report, const EventTotals& totals);
/// Share of the timed region that reading the events took, mean over ranks.
double reading_share(const RunReport& report, const RepeatReport& repeat);

/// Both: empty or null if no events were asked for; for a report with at least one repeat.
std::string counters_text(const RunReport& report);
nlohmann::ordered_json counters_json(const RunReport& report);

}  // namespace cg2d
