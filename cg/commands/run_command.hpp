#pragma once

// `cg2d run`: from options to a report and an exit code.

#include "cg/base/errors.hpp"
#include "cg/run/run_options.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Runs the benchmark and writes its report. Collective; the same code on every rank. Throws RunError (on
/// every rank alike), MpiError, std::bad_alloc.
ExitCode run_benchmark(const RunOptions& options, comm::RankGroup& group);

}  // namespace cg2d
