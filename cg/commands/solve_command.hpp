#pragma once

// `cg2d solve`: from options to a report, a solution and an exit code.

#include "cg/base/errors.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Solves a system and writes the report and the solution; the solution also of a solve that did not converge.
/// Collective; the same code on every rank. Throws RunError (on every rank alike), MpiError, std::bad_alloc.
ExitCode solve_system(const SystemOptions& options, comm::RankGroup& group);

}  // namespace cg2d
