#pragma once

// The paper's table of a sweep, ranks down, process columns across, and the verdicts on it.

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

/// "best is 4x1 with 0.0873 s, better than 2x2 by 12 % (8 ... 15 %); the official 2x2 costs 12 % (8 ... 15 %)
/// more", or the grids that cannot be told from the best one. Without a full stop.
std::string grid_verdict_text(const GridVerdict& row);
/// The verdict on the configurations of several tables, in words as grid_verdict_text().
std::string choice_verdict_text(const ChoiceVerdict& choice);

/// All verdicts with their figures.
std::string sweep_verdict_json(const std::vector<ResultRecord>& records);
/// The document, for its schema.
void visit_sweep_verdicts(Members& m);

/// For each problem with its choices but the kernel: Table 2 (seconds by PU and Px) with the first kernel of the sweep,
/// Tables 3 and 4 (clocks of an iteration, and of a matrix-vector product) for the greatest number of ranks, and, where
/// the sweep has another kernel, Tables 5 and 6, as the paper's second loop has them. Each caption says what the
/// paper's table is. Seconds are medians, clocks those of the run with the median time, means over the ranks.
/// Systems have none: empty where there is no benchmark.
std::string paper_tables(const std::vector<GridVerdict>& rows);

}  // namespace cg2d
