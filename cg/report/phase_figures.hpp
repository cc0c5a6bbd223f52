#pragma once

// The phases of a run or of a solve in the reports: time and messages per CG step, counted events, and the limits of the machine; as figures,
// as text, and in a document.

#include <algorithm>

#include "cg/run/run_report.hpp"
#include "cg/timing/phase.hpp"

namespace cg2d {

/// Holds references: what it is made of must outlive it.
struct PhaseFigures {
  const SessionReport& report;
  const RepeatReport& repeat;  ///< the region whose phases were timed
  bool are_timed = true;
  double step_count = 0.0;  ///< CG steps of the region
  const Prediction* prediction = nullptr;
  /// Phases of a step; the JSON has those of the benchmark in any case.
  std::span<const Phase> phases = benchmark_phases;
  double nonzeros_multiplied = 0.0;  ///< by all products of the region, all ranks; 0: there is no matrix

  /// Whether there is such a region, with timed phases, a step, and the facts of its ranks.
  bool is_known() const {
    return are_timed && !repeat.ranks.empty() && report.ranks.size() >= repeat.ranks.size() &&
           step_count > 0.0;
  }
};
/// The phases of a repetition, or of the one that a run reports.
PhaseFigures phases_of(const RunReport& report, const RepeatReport& repeat);
PhaseFigures phases_of(const RunReport& report);
/// The phases of a solve: those of the benchmark, unless there is no matrix.
PhaseFigures phases_of(const SolveReport& report);

// Counted events.

/// One figure: events of one role, multiplied, over those of another one or over the nonzeros of all products.
struct FigureRow {
  std::string_view name;  ///< key in JSON
  std::string_view description;
  EventRole numerator;
  std::optional<EventRole> denominator;  ///< none: per nonzero, for the multiply phase only
  double factor = 1.0;                   ///< factor of the numerator
};

struct CounterFigure {
  const FigureRow* row = nullptr;
  std::vector<std::string> events;           ///< that it is made of
  std::array<double, phase_count> phases{};  ///< NaN where there is no such figure, or the denominator is 0
};
/// The figures whose events were counted, in the order of the table, by the counts of all ranks. A pure function.
std::vector<CounterFigure> counter_figures(const PhaseFigures& figures);

/// Over the ranks.
struct Spread {
  double minimum = 0.0;
  double mean = 0.0;
  double maximum = 0.0;
  double total = 0.0;
};

/// One event over all ranks in the region reported.
struct EventTotals {
  std::array<Spread, phase_count> phases;
  double region_total = 0.0;
  double outside_phases = 0.0;  ///< in the region: readings of the counters, and what observers do
  /// Share of the region's events that is within phases; nothing if nothing was counted in the region.
  std::optional<double> coverage;
};
EventTotals event_totals(const PhaseFigures& figures, size_t event);

/// A count of events, messages or bytes: "0.005333", "197123456".
std::string count_text(double count);
/// Events of the multiply phase per nonzero of the matrix and product, all ranks.
double per_nonzero(const PhaseFigures& figures, const EventTotals& totals);
/// Share of the timed region that reading the events took, mean over ranks.
double reading_share(const PhaseFigures& figures);

// The phases themselves, and the limits of the machine.

/// One phase in the region reported: means over the ranks, for the whole timed region.
struct PhaseShare {
  double byte_count = 0.0;
  double flop_count = 0.0;
  double storage_byte_count = 0.0;
  double shortest_s = 0.0;  ///< by the limits of the machine
  double measured_s = 0.0;
  double clocks = 0.0;
  double waited_s = 0.0;  ///< waiting for other ranks, a part of measured_s
  double hidden_s = 0.0;  ///< while communication of the phase was under way
  double messages = 0.0;  ///< sent
  double sent_bytes = 0.0;
  double predicted_s = 0.0;
  /// 1 for a phase at the limit of the machine; 0 for one without work.
  double share() const { return measured_s > 0.0 ? shortest_s / measured_s : 0.0; }
  /// The rate of all ranks, per second, for a mean amount of one.
  double rate_of(double amount, double rank_count) const {
    return measured_s > 0.0 ? amount * (rank_count / measured_s) : 0.0;
  }

  // Both go amount by amount.
  PhaseShare& operator+=(const PhaseShare& other);
  PhaseShare operator-(const PhaseShare& other) const;
  PhaseShare operator/(double divisor) const;
};
using PhaseShares = std::array<PhaseShare, phase_count>;
PhaseShares phase_shares(const PhaseFigures& figures);

/// Bytes that a bandwidth was measured with.
struct Footprint {
  int64_t rank_bytes = 0;  ///< of the rank that has most
  int64_t all_bytes = 0;   ///< of all ranks together
  void add(int64_t bytes) {
    rank_bytes = std::max(rank_bytes, bytes);
    all_bytes += bytes;
  }
};

/// The phases against the limits of the machine.
struct Roofline {
  MachineLimits limits{};  ///< of all ranks together
  Footprint matrix{};
  Footprint vectors{};
  double storage_bytes_per_step = 0.0;  ///< that all ranks read together
  PhaseShares shares{};
};
/// The phase table: time per CG step, beside the rates of the work done and the limits of the machine; below it the counted events. Limits and events where they were measured; empty without phases.
std::string figures_text(const PhaseFigures& figures);

/// A region in a document. figures: of what is known before it is read.
struct DescribedRegion {
  SessionReport& report;
  RepeatReport& repeat;
  std::optional<Roofline>& roofline;
  PhaseFigures figures;
  std::vector<Phase> phases{figures.phases.begin(), figures.phases.end()};  ///< of a step
};
/// phases, roofline and counters; null where there are none.
void describe_region(Members& m, DescribedRegion& region);

}  // namespace cg2d
