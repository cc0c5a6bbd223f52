#pragma once

// `cg2d run` and `cg2d solve`: the way from options to a report and an exit code.

#include "cg/base/errors.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Runs the benchmark and writes its report. Collective; the same code on every rank. Throws RunError (on
/// every rank alike), MpiError, std::bad_alloc.
ExitCode run_benchmark(const RunOptions& options, comm::RankGroup& group);

/// Solves a system and writes the report and the solution; the solution also of a solve that did not converge. The rest as for
/// run_benchmark().
ExitCode solve_system(const SystemOptions& options, comm::RankGroup& group);

}  // namespace cg2d
