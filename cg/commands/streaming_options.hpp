#pragma once

// --out-of-core of the commands that have it.

#include <string>

#include "cg/run/guard/guard_report.hpp"
#include "cg/run/streaming/out_of_core_options.hpp"
#include "cg/solver/configuration.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace cg2d {

void add_out_of_core_option(CLI::App& parser, std::string& folders);

/// Throws InputError: the reason, and that it is one against --out-of-core.
void refuse_out_of_core_if(bool is_given, const std::string& reason);

/// For options that are used: sets chooses_kernel. Throws InputError for what does not go with a streamed matrix.
void settle_out_of_core(OutOfCoreOptions& options, const Configuration& configuration,
                        const GuardOptions& guard);

}  // namespace cg2d
