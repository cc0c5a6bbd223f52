#pragma once

// `cg2d run` and `cg2d solve`: the options that they have in common, whose targets must outlive the set, and the way from options to a
// report and an exit code.

#include "cg/base/errors.hpp"
#include "cg/commands/option_set.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// --grid, --px, the axes, the settings of kernels, the profile and --bind, as the group "Grid".
void add_grid_options(OptionSet& options, SessionOptions& session);
/// --hostname, --verbose, --clocks, --progress and --quiet.
void add_display_options(OptionSet& options, SessionOptions& session);
/// --memory-limit, as the group "Memory".
void add_memory_group(OptionSet& options, SessionOptions& session);
/// Counters, traces, and the features of feature_table() that such work has, in their groups.
void add_feature_options(OptionSet& options, SessionOptions& session, WorkKind kind);

/// Reads the options of features, and checks what does not depend on the workload. Throws InputError.
void resolve_session(SessionOptions& session, const OptionSet& given);

/// Runs the benchmark and writes its report. Collective; the same code on every rank. Throws RunError (on
/// every rank alike), MpiError, std::bad_alloc.
ExitCode run_benchmark(const RunOptions& options, comm::RankGroup& group);

/// Solves a system and writes the report and the solution; the solution also of a solve that did not converge. The rest as for
/// run_benchmark().
ExitCode solve_system(const SystemOptions& options, comm::RankGroup& group);

}  // namespace cg2d
