#pragma once

// The paper's table of a sweep: ranks down, process columns across.

#include <optional>
#include <string>
#include <vector>

#include "cg/report/grids/grid_differences.hpp"
#include "cg/report/run_verdict.hpp"

namespace cg2d {

/// Further contents of a sweep's tables.
struct SweepTableOptions {
  std::optional<GridPair> why{};  ///< these grids against each other, instead of the best against others
  bool has_paper = false;         ///< also Tables 2 to 6 of the paper
};

/// One table for each problem and configuration without its grid, by verdicts_of(): medians with spread, the
/// best grid of each rank count (*) or those that may be (~), the official one (o) and its cost, failed runs,
/// and predicted beside measured times of the phases where there are any. Then the best of all tables, and the
/// runs that were left out.
/// Below each of them: events and limits of the grids that have them, and why the next best and the worst grid of the
/// most ranks are slower.
std::string sweep_tables(const std::vector<ResultRecord>& records, const SweepTableOptions& options = {});

/// For every configuration of a table that has a prediction and did not fail: measured and predicted seconds
/// of each phase and in total, and the difference in per cent of the measured seconds. Empty where there is
/// none. Measured is the run with the median time (of an even number the lower of the middle two).
std::string prediction_lines(const std::vector<MeasuredConfiguration>& cells);

}  // namespace cg2d
