#pragma once

// The options that cg2d run and cg2d solve have in common.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "cg/base/values.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/run/feature_settings.hpp"
#include "cg/run/session_options.hpp"

namespace cg2d {

/// The parsed texts of these options; the options of a session have what needs no conversion.
struct SessionArguments {
  std::string grid = "auto";
  AxisValues axes;
  std::string bind = "auto";
  OptionTexts features;
};

/// --grid, --px, the axes, the settings of kernels, the profile and --bind, as the group "Grid". Both must outlive the parser.
void add_grid_options(CLI::App& parser, SessionArguments& arguments, SessionOptions& options);
/// --hostname, --verbose, --clocks, --progress and --quiet.
void add_display_options(CLI::App& parser, SessionOptions& options);
/// Counters, traces, and all features of feature_table(), in their groups.
void add_feature_options(CLI::App& parser, SessionArguments& arguments, SessionOptions& options);

/// Converts the texts, all but those of --out-of-core, and checks what does not depend on the workload. Throws InputError.
void settle_session(const SessionArguments& arguments, SessionOptions& options);

}  // namespace cg2d
