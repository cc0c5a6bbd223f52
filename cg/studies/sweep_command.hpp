#pragma once

// `cg2d sweep`: complete runs on every grid, in turns, one line of a file for each.

#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/run/run_options.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// What `cg2d sweep` was asked for.
struct SweepOptions {
  SweepAxes axes;     ///< no rank counts: that of the ranks started
  RunOptions common;  ///< of every run, as far as the axes do not say it
  int round_count = 3;
  std::string output = "cg2d-sweep.jsonl";
  bool fresh = false;
  bool progress = false;  ///< asked for; a terminal gets it anyway
};

/// Runs what the file does not have yet, appends it line by line, and prints the tables of the file.
/// Collective. The exit code is that of the first failed run, or `interrupted`. Throws RunError on every rank
/// alike.
ExitCode sweep(const SweepOptions& options, comm::RankGroup& group);

}  // namespace cg2d
