#pragma once

// The options of `cg2d run` for counters and traces.

#include <CLI/CLI.hpp>

#include "cg/run/run_options.hpp"

namespace cg2d {

void add_counter_options(CLI::App& run, RunOptions& options);
/// Throws InputError.
void check_counter_options(const RunOptions& options);

}  // namespace cg2d
