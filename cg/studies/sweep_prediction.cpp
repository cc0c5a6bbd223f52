#include "cg/studies/sweep_prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace cg2d {
namespace {

/// One value for each phase, then the total; empty where it is not known.
using PhaseCells = std::vector<std::optional<double>>;

constexpr std::string_view total_name = "total";

PhaseCells cells_of(const std::optional<PhaseSeconds>& phases, double total) {
  PhaseCells cells(phase_count);
  if (phases) std::ranges::copy(*phases, cells.begin());
  cells.emplace_back(total);
  return cells;
}

/// In per cent of the measured values. Empty where one of the two is zero: a grid with one process column has
/// nothing to sum.
PhaseCells differences_of(const PhaseCells& measured, const PhaseCells& predicted) {
  PhaseCells differences(measured.size());
  for (std::size_t k = 0; k < measured.size(); ++k) {
    if (measured[k].value_or(0.0) > 0.0 && *predicted[k] > 0.0)
      differences[k] = 100.0 * (*predicted[k] / *measured[k] - 1.0);
  }
  return differences;
}

std::string line_of(std::string_view grid, std::string_view what, const std::vector<std::string>& texts) {
  std::string line = fmt::format("    {:<9} {:<10}", grid, what);
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const auto name = k < phase_count ? phase_name(phase_at(k)) : total_name;
    line += fmt::format(" {:>{}}", texts[k], std::max<std::size_t>(name.size(), 10));
  }
  return line + "\n";
}

template <typename Format>
std::vector<std::string> texts_of(const PhaseCells& cells, const Format& format) {
  std::vector<std::string> texts;
  for (const auto& cell : cells) texts.push_back(cell ? format(*cell) : "-");
  return texts;
}

std::string head_line() {
  std::vector<std::string> names;
  for (std::size_t index = 0; index < phase_count; ++index) names.emplace_back(phase_name(phase_at(index)));
  names.emplace_back(total_name);
  return line_of("grid", "", names);
}

std::string lines_for(const ResultRecord& run) {
  const auto as_seconds = [](double value) { return fmt::format("{:.6f}", value); };
  const auto as_percent = [](double value) { return fmt::format("{:+.1f} %", value); };
  const auto measured = cells_of(run.phases_s, run.time_s);
  const auto predicted = cells_of(run.prediction->phases_s, run.prediction->total_s);
  return line_of(run.asked.configuration.grid.name(), "measured", texts_of(measured, as_seconds)) +
         line_of("", "predicted", texts_of(predicted, as_seconds)) +
         line_of("", "difference", texts_of(differences_of(measured, predicted), as_percent));
}

}  // namespace

std::string prediction_lines(const std::vector<MeasuredConfiguration>& cells) {
  std::string lines;
  for (const auto& cell : cells) {
    if (!cell.is_sound() || !cell.median_run().prediction) continue;
    lines += lines_for(cell.median_run());
  }
  if (lines.empty()) return lines;
  return "  Predicted beside measured, in the run with the median time: seconds of the whole timed region,\n"
         "  phases as means over the ranks; difference = predicted / measured - 1\n" +
         head_line() + lines;
}

}  // namespace cg2d
