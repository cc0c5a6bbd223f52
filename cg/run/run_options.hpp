#pragma once

// The options of one run of the benchmark.

#include <string>

#include "cg/matrix/problem.hpp"
#include "cg/run/session_options.hpp"

namespace cg2d {

/// The options of `cg2d run`.
struct RunOptions : SessionOptions {
  Problem problem;
  int planned_ranks = 0;  ///< --ranks, with --dry-run: plan for that many; 0: those that run
  int repeat_count = 1;
  double least_time_s = 0.0;  ///< --min-time: repetitions are added until they have taken that long together
  bool dry_run = false;
  std::string export_mtx;        ///< empty: no export
  bool stops_when_asked = true;  ///< by a signal, at the next outer iteration; else the caller sees to it
};

}  // namespace cg2d
