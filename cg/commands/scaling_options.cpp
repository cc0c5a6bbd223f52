// The command line of `cg2d scaling`.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/studies/scaling_command.hpp"
#include "cg/studies/scaling_table.hpp"

namespace cg2d {
namespace {

/// The parsed arguments of `cg2d scaling`; `options` has those that need no conversion.
struct ScalingArguments {
  std::string class_letter;
  ProblemArguments problem;
  AxisValues axes;
  UntilSureArguments until_sure;
  ScalingOptions options;
};

void add_scaling_options(CLI::App& scaling, ScalingArguments& arguments) {
  auto& options = arguments.options;
  scaling.add_option("--class", arguments.class_letter, "problem class; A if not given");
  add_problem_options(scaling, arguments.problem);
  add_list_option(scaling, "--cores", options.core_counts,
                  "numbers of cores, such as 1,2,4; powers of two up to the ranks started if not given");
  scaling.add_flag("--weak", options.weak, "weak scaling: n grows with the cores");
  add_list_option(scaling, "--transport", options.transports,
                  "ways to move data, such as two-sided,shared, which is the default where both can serve");
  add_axis_option(scaling, "kernel", arguments.axes, "matrix-vector product, or auto");
  add_profile_options(scaling, options.common.profile, profile_is_used());
  add_memory_limit_option(scaling, options.common.memory_limit_bytes);
  add_axis_option(scaling, "ranks_per_node", arguments.axes);
  add_number_option(scaling, "--rounds", options.round_count,
                    "runs of each way, in turns; as many as the verdict needs if not given");
  add_host_name_option(scaling, options.common.names_hosts);
  add_until_sure_options(scaling, arguments.until_sure, "the best way");
  add_format_option(scaling, options.format, names_of(scaling_format_table()));
  add_file_option(scaling, "--output", options.output, "write the result to FILE, whole or not at all");
  scaling.add_flag("--progress", options.progress, "progress on stderr (a terminal gets it anyway)");
}

/// Each name once, in the order given.
std::vector<std::string> without_repeats(const std::vector<std::string>& names) {
  std::vector<std::string> once;
  for (const auto& name : names) {
    if (std::ranges::find(once, name) == once.end()) once.push_back(name);
  }
  return once;
}

ScalingOptions scaling_options_from(const ScalingArguments& arguments) {
  constexpr int most = std::numeric_limits<int>::max();
  ScalingOptions options = arguments.options;
  const bool is_whole_problem = arguments.class_letter.empty() && arguments.problem.has_any();
  options.problem = problem_from(
      "scaling", arguments.class_letter.empty() && !is_whole_problem ? "A" : arguments.class_letter,
      arguments.problem);
  for (const int count : options.core_counts) require_within("--cores", count, most);
  options.common.configuration = configuration_from(arguments.axes);
  static_cast<void>(crossed({}, {{"transport", options.transports}}));  // they are checked by that
  options.transports = without_repeats(options.transports);
  if (options.round_count) require_within("--rounds", *options.round_count, most);
  options.until_sure = until_sure_from(arguments.until_sure);
  require_known("--format", options.format, names_of(scaling_format_table()));
  check_profile(options.common.profile);
  return options;
}

}  // namespace

SubcommandRow scaling_subcommand() {
  return {.name = "scaling",
          .description = "compare ranks, shared-memory ranks and threads on the same cores",
          .declare = subcommand_with<ScalingArguments, add_scaling_options,
                                     command_action<scaling_options_from, compare_ways, ScalingArguments>>};
}

}  // namespace cg2d
