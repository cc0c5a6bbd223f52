#pragma once

// Figures that follow from counted events: rates, shares, and amounts per nonzero.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/timing/events.hpp"
#include "cg/timing/phase.hpp"

namespace cg2d {

/// One figure: events of one role, multiplied, over those of another one or over the nonzeros of all products.
struct FigureRow {
  std::string_view name;  ///< key in JSON
  std::string_view description;
  EventRole numerator;
  std::optional<EventRole> denominator;  ///< none: per nonzero, for the multiply phase only
  double factor = 1.0;                   ///< factor of the numerator
};
std::span<const FigureRow> figure_table();

using PhaseTotals = std::array<double, phase_count>;
/// The counts of all ranks, and the work that they belong to.
struct CountedEvents {
  std::vector<std::string> names;
  std::vector<PhaseTotals> totals;  ///< totals of each event
  double nonzeros_multiplied = 0.0;
};

using PhaseRatios = std::array<std::optional<double>, phase_count>;
struct CounterFigure {
  const FigureRow* row = nullptr;
  std::vector<std::string> events;  ///< that it is made of
  PhaseRatios phases;               ///< nothing where the denominator is 0
};
/// The figures whose events were counted, in the order of the table. A pure function.
std::vector<CounterFigure> counter_figures(const CountedEvents& counted);

}  // namespace cg2d
