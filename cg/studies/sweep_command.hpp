#pragma once

// `cg2d sweep`: complete runs on every grid, in turns, one line of a file for each.

#include <optional>
#include <string>

#include "cg/base/errors.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "cg/studies/sweep_table.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The machine is not quiet enough for a run that was disturbed so many times.
inline constexpr int most_sweep_retries = 8;

/// The options of `cg2d sweep`.
struct SweepOptions {
  SweepAxes axes;     ///< without rank counts: all ranks started
  RunOptions common;  ///< of every run of the benchmark, except for the axes
  /// A user's system instead of the benchmark, of measured_system(). assembles: also the matrix of the operator.
  std::optional<SystemOptions> system;
  std::optional<int> round_count;       ///< empty: rounds_for_verdicts()
  int most_retries = 2;                 ///< repetitions of a disturbed run
  std::optional<UntilSure> until_sure;  ///< empty: no rounds are added
  std::string output = "cg2d-sweep.jsonl";
  bool fresh = false;
  ExtraRuns extras;  ///< extra runs, of the benchmark only
  SweepTableOptions tables{};
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// Makes the runs that the file does not have yet, appends a line for each, adds rounds of what is undecided
/// if it was asked to, then makes the runs with counters, limits and trace, and prints the tables of the file. A disturbed run is
/// repeated at the end of its round; every attempt is a line. Collective. The exit code is that of the first failed run, or
/// `interrupted`. Throws RunError on every rank alike.
ExitCode sweep(const SweepOptions& options, comm::RankGroup& group);

}  // namespace cg2d
