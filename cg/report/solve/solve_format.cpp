#include "cg/report/solve/solve_format.hpp"

#include <algorithm>
#include <array>

namespace cg2d {

// Rows, each defined in its own file.
SolveFormat text_solve_format();
SolveFormat json_solve_format();

std::span<const SolveFormat> solve_format_table() {
  static const std::array table{text_solve_format(), json_solve_format()};
  return table;
}

const SolveFormat& solve_format(std::string_view name) {
  return *std::ranges::find(solve_format_table(), name, &SolveFormat::name);
}

namespace {

/// By all vectors together. Each product of an assembled matrix is summed once; only there are its nonzeros those of
/// the system.
double nonzeros_multiplied(const SolveReport& report) {
  if (report.matrix_free || report.repeat.ranks.empty()) return 0.0;
  const auto& times = report.repeat.ranks.front();
  return static_cast<double>(times.phases[index_of(Phase::summation)].calls) *
         static_cast<double>(report.matrix->nonzero_count) * report.right_hand_side_count;
}

}  // namespace

PhaseFigures phase_figures(const SolveReport& report) {
  PhaseFigures figures{.configuration = report.configuration,
                       .repeat = report.repeat,
                       .ranks = report.ranks,
                       .step_count = static_cast<double>(timed_step_count(report)),
                       .counters = &report.counters,
                       .nonzeros_multiplied = nonzeros_multiplied(report)};
  if (report.matrix_free) figures.phases = report.matrix_free->phases;
  return figures;
}

}  // namespace cg2d
