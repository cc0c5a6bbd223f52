#pragma once

// `cg2d sweep`: complete runs on every grid, in turns, one line of a file for each; the paper's table of them, ranks down, process columns
// across, and the verdicts on it.

#include <optional>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/report/grids/grid_differences.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/report/run_verdict.hpp"
#include "cg/studies/study.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Further contents of a sweep's tables.
struct SweepTableOptions {
  std::optional<GridPair> why{};  ///< these grids against each other, instead of the best against others
  bool has_paper = false;         ///< also Tables 2 to 6 of the paper
};

/// The machine is not quiet enough for a run that was disturbed so many times.
inline constexpr int most_sweep_retries = 8;

/// The options of `cg2d sweep`.
struct SweepOptions : StudyOptions {
  SweepOptions() {
    most_retries = 2;
    file = "cg2d-sweep.jsonl";
  }

  SweepAxes axes;    ///< without rank counts: all ranks started
  ExtraRuns extras;  ///< extra runs, of the benchmark only
  SweepTableOptions tables{};
};

/// Makes the runs that the file does not have yet, appends a line for each, adds rounds of what is undecided
/// if it was asked to, then makes the runs with counters, limits and trace, and prints the tables of the file. A disturbed run is
/// repeated at the end of its round; every attempt is a line. Collective. The exit code is that of the first failed run, or
/// `interrupted`. Throws RunError on every rank alike.
ExitCode sweep(const SweepOptions& options, comm::RankGroup& group);

/// One table for each problem and configuration without its grid, by verdicts_of(): medians with spread, the
/// best grid of each rank count (*) or those that may be (~), the official one (o) and its cost, failed runs,
/// and predicted beside measured times of the phases where there are any. Then the best of all tables, and the
/// runs that were left out.
/// Below each of them: events and limits of the grids that have them, and why the next best and the worst grid of the
/// most ranks are slower.
std::string sweep_tables(const std::vector<ResultRecord>& records, const SweepTableOptions& options = {});

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
