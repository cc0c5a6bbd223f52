#include "cg/report/counter_figures.hpp"

namespace cg2d {
namespace {

/// The line length of x86-64 and of most AArch64 processors.
constexpr double bytes_per_line = 64.0;

// clang-format off
constexpr std::array figure_rows{
    FigureRow{"instructions_per_cycle", "instructions per core cycle",
              EventRole::instructions, EventRole::cycles},
    FigureRow{"stalled_cycle_share", "share of stalled cycles", EventRole::stalled_cycles, EventRole::cycles},
    FigureRow{"flops_per_cycle", "flops per core cycle", EventRole::flops, EventRole::cycles},
    FigureRow{"misprediction_share", "share of mispredictions",
              EventRole::mispredictions, EventRole::branches},
    FigureRow{"flops_per_nonzero", "flops per nonzero", EventRole::flops, std::nullopt},
    FigureRow{"memory_bytes_per_nonzero", "memory bytes per nonzero",
              EventRole::memory_lines, std::nullopt, bytes_per_line},
};
// clang-format on

std::optional<double> ratio(double numerator, double denominator) {
  if (denominator > 0.0) return numerator / denominator;
  return std::nullopt;
}

std::optional<CounterFigure> figure_of(const FigureRow& row, const CountedEvents& counted) {
  const auto numerator = find_role(row.numerator, counted.names);
  if (!numerator) return std::nullopt;
  CounterFigure figure{.row = &row, .events = {counted.names[*numerator]}, .phases = {}};
  const auto& above = counted.totals[*numerator];
  if (!row.denominator) {
    const auto multiply = index_of(Phase::multiply);
    figure.phases[multiply] = ratio(row.factor * above[multiply], counted.nonzeros_multiplied);
    return figure;
  }
  const auto denominator = find_role(*row.denominator, counted.names);
  if (!denominator) return std::nullopt;
  figure.events.push_back(counted.names[*denominator]);
  for (std::size_t phase = 0; phase < benchmark_phase_count; ++phase)
    figure.phases[phase] = ratio(row.factor * above[phase], counted.totals[*denominator][phase]);
  return figure;
}

}  // namespace

std::span<const FigureRow> figure_table() { return figure_rows; }

std::vector<CounterFigure> counter_figures(const CountedEvents& counted) {
  std::vector<CounterFigure> made;
  for (const auto& row : figure_rows) {
    if (auto figure = figure_of(row, counted)) made.push_back(std::move(*figure));
  }
  return made;
}

}  // namespace cg2d
