#pragma once

// The descriptions of what results say of phases: times, limits of the machine, counted events.

#include <optional>

#include "cg/base/json_record.hpp"
#include "cg/report/phase_table.hpp"
#include "cg/report/report_counters.hpp"

namespace cg2d {

/// An object with a value for each of the phases, by its name: value_of(index of the phase).
template <typename ValueOf>
Json json_by_phase(std::span<const Phase> phases, const ValueOf& value_of) {
  auto json = Json::object();
  for (const auto phase : phases) json[std::string(phase_name(phase))] = value_of(index_of(phase));
  return json;
}
/// A value for each phase of the benchmark.
template <typename ValueOf>
Json json_by_phase(const ValueOf& value_of) {
  return json_by_phase(benchmark_phases, value_of);
}
FigureType by_phase_type(FigureType value);

FigureType event_kind_type();
const Record<RefusedEvent>& refused_event_record();

const Record<PhaseFigures>& phases_record();
const Record<RooflineFigures>& roofline_record();
const Record<PhaseFigures>& counters_record();

/// The sections of a result. figures_of(whole): std::optional<PhaseFigures>, nothing where no region was measured.
template <typename Whole, typename FiguresOf>
std::vector<Figure<Whole>> phase_sections(const FiguresOf& figures_of) {
  const auto only = [figures_of](bool (*is_there)(const PhaseFigures& figures)) {
    return [figures_of, is_there](const Whole& whole) -> std::optional<PhaseFigures> {
      const auto figures = figures_of(whole);
      if (figures && is_there(*figures)) return figures;
      return std::nullopt;
    };
  };
  const auto timed = only([](const PhaseFigures& figures) { return figures.are_timed; });
  const auto counted = only([](const PhaseFigures& figures) { return !figures.counters->asked.empty(); });
  const auto limited = [timed](const Whole& whole) {
    const auto figures = timed(whole);
    return figures ? roofline_of(*figures) : std::nullopt;
  };
  return {
      part<Whole>("phases", phases_record(), timed,
                  "null where phases were not timed (--no-phases), and without a result or an iteration."),
      part<Whole>("roofline", roofline_record(), limited,
                  "null without --roofline, where ranks outnumber cores, and without phases. Without an "
                  "assembled matrix matrix_bytes_per_s is read from as many bytes as vectors have."),
      part<Whole>("counters", counters_record(), counted,
                  "null where no events were asked for, and without a result; per nonzero: null without "
                  "an assembled matrix.")};
}

}  // namespace cg2d
