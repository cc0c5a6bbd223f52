#pragma once

// `cg2d scaling`: the ways to use a node, each with the same number of cores, in turns.

#include <optional>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/progress.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The options of `cg2d scaling`.
struct ScalingOptions {
  Problem problem;  ///< of the benchmark, on one core
  /// A user's system instead, on one core, of measured_system(). assembles: also the matrix of the operator.
  std::optional<SystemOptions> system;
  bool weak = false;             ///< n, or the box of a Laplacian, grows with the cores
  std::vector<int> core_counts;  ///< empty: the usual ones, up to the ranks started
  /// Values of the axes that are compared, transport and cut. No transport: those of the usual ones that are available.
  AxisValues values;
  RunOptions common;               ///< options of every run of the benchmark, except for what its case says
  std::optional<int> round_count;  ///< empty: rounds_for_verdicts()
  std::optional<UntilSure> until_sure;  ///< empty: no rounds are added
  std::string format = "text";
  std::string output;  ///< empty: standard output
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// Runs every case in every round, adds rounds of what is undecided if it was asked to, and writes the
/// comparison. Collective. The exit code is that of the first
/// failed run, `interrupted`, or `verification_failed` where runs disagree. Throws RunError on every rank
/// alike: usage, or unavailable for a transport or kernel that was named.
ExitCode compare_cases(const ScalingOptions& options, comm::RankGroup& group);

}  // namespace cg2d
