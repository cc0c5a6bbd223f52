#pragma once

// The phases of a run in the reports: counted events, and the limits of the machine.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cg/report/counter_figures.hpp"
#include "cg/run/run_report.hpp"

namespace cg2d {

/// An object with a value for each phase, by its name: value_of(index of the phase).
template <typename ValueOf>
nlohmann::ordered_json json_by_phase(const ValueOf& value_of) {
  auto json = nlohmann::ordered_json::object();
  for (std::size_t index = 0; index < benchmark_phase_count; ++index)
    json[std::string(phase_name(phase_at(index)))] = value_of(index);
  return json;
}

/// One event over all ranks in the reported repetition.
struct EventTotals {
  std::array<Spread, phase_count> phases;  ///< over the ranks
  std::array<double, phase_count> phase_totals{};
  double region_total = 0.0;
  double outside_phases = 0.0;  ///< in the region: readings of the counters, and what observers do
  /// Share of the region's events that is within phases; nothing if nothing was counted in the region.
  std::optional<double> coverage;
  /// The system's own account of the region; nothing where it has no such figure.
  std::optional<double> account;
};
EventTotals event_totals(const RunReport& report, std::size_t event);

/// The counts of the repetition reported, for the figures made of them.
CountedEvents counted_events(const RunReport& report);
/// Events of the multiply phase per nonzero of the matrix and product, all ranks.
double per_nonzero(const RunReport& report, const EventTotals& totals);
/// Share of the timed region that reading the events took, mean over ranks.
double reading_share(const RunReport& report, const RepeatReport& repeat);

/// Both: empty or null if no events were asked for; for a report with at least one repeat.
std::string counters_text(const RunReport& report);
nlohmann::ordered_json counters_json(const RunReport& report);

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
