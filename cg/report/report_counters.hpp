#pragma once

// The phases of a run or of a solve in the reports: counted events, and the limits of the machine.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "cg/report/counter_figures.hpp"
#include "cg/report/phase_table.hpp"
#include "cg/run/run_report.hpp"

namespace cg2d {

/// One event over all ranks in the region reported.
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
EventTotals event_totals(const PhaseFigures& figures, std::size_t event);

/// The counts of the region reported, for the figures made of them.
CountedEvents counted_events(const PhaseFigures& figures);
/// Events of the multiply phase per nonzero of the matrix and product, all ranks.
double per_nonzero(const PhaseFigures& figures, const EventTotals& totals);
/// Share of the timed region that reading the events took, mean over ranks.
double reading_share(const PhaseFigures& figures);

/// Empty if no events were asked for; for figures with their counters.
std::string counters_text(const PhaseFigures& figures);

/// One phase in the region reported, means over the ranks, for the whole timed region.
struct PhaseShare {
  double byte_count = 0.0;
  double flop_count = 0.0;
  double storage_byte_count = 0.0;
  double shortest_s = 0.0;  ///< by the limits of the machine
  double measured_s = 0.0;
  /// 1 for a phase at the limit of the machine; 0 for one without work.
  [[nodiscard]] double share() const { return measured_s > 0.0 ? shortest_s / measured_s : 0.0; }
};
std::array<PhaseShare, phase_count> phase_shares(const PhaseFigures& figures);

/// Bytes that a bandwidth was measured with.
struct Footprint {
  std::int64_t rank_bytes = 0;  ///< of the rank that has most
  std::int64_t all_bytes = 0;   ///< of all ranks together
};

/// The phases against the limits of the machine.
struct RooflineFigures {
  PhaseFigures figures;
  MachineLimits limits;  ///< of all ranks together
  std::array<PhaseShare, phase_count> shares;

  [[nodiscard]] Footprint footprint(std::int64_t MachineLimits::*bytes) const;
  [[nodiscard]] bool reads_storage() const { return limits.storage_bytes_per_s > 0.0; }
  /// The bytes that all ranks read together.
  [[nodiscard]] double storage_bytes_per_step() const;
};
/// Nothing if the limits were not measured.
std::optional<RooflineFigures> roofline_of(const PhaseFigures& figures);
/// Empty if the limits were not measured.
std::string roofline_text(const PhaseFigures& figures);

}  // namespace cg2d
