#pragma once

// The options that cg2d run and cg2d solve have in common. All that gets a value must outlive the set.

#include <string>

#include "cg/commands/option_set.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/session_options.hpp"

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

}  // namespace cg2d
