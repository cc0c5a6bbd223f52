// The command line of `cg2d scaling`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cg/commands/help/described_option.hpp"
#include "cg/commands/measured_system_options.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/studies/scaling_command.hpp"
#include "cg/studies/scaling_plan.hpp"
#include "cg/studies/scaling_table.hpp"

namespace cg2d {
namespace {

/// The parsed arguments of `cg2d scaling`; `options` has those that need no conversion.
struct ScalingArguments {
  std::string class_letter;
  ProblemArguments problem;
  MeasuredSystemArguments system;
  AxisValues axes;
  UntilSureArguments until_sure;
  ScalingOptions options;
};

void add_scaling_options(CLI::App& scaling, ScalingArguments& arguments) {
  auto& options = arguments.options;
  scaling.option_defaults()->group("Problem");
  scaling.add_option("--class", arguments.class_letter, "problem class")
      ->type_name(type_of_values(class_letters()))
      ->default_str("A");
  add_problem_options(scaling, arguments.problem);
  scaling.option_defaults()->group("Ways");
  add_list_option(scaling, "--cores", options.core_counts, "numbers of cores, such as 1,2,4")
      ->default_str("powers of two up to the ranks started");
  scaling.add_flag("--weak", options.weak, "weak scaling: n grows with the cores");
  add_list_option(scaling, "--transport", options.transports,
                  "how data moves between ranks, such as two-sided,shared")
      ->type_name(type_of_values(configuration_axis("transport").values()))
      ->default_str("two-sided,shared where both can serve");
  add_axis_option(scaling, "kernel", arguments.axes, "matrix-vector product");
  add_profile_options(scaling, options.common.profile, profile_is_used());
  add_memory_limit_option(scaling, options.common.memory_limit_bytes);
  add_axis_option(scaling, "ranks_per_node", arguments.axes);
  scaling.option_defaults()->group("Rounds");
  add_number_option(scaling, "--repeat,--rounds", options.round_count,
                    "runs of each configuration, interleaved")
      ->default_str("as many as the verdict needs");
  add_until_sure_options(scaling, arguments.until_sure, "the best configuration");
  scaling.option_defaults()->group("Output");
  add_host_name_option(scaling, options.common.names_hosts);
  add_format_option(scaling, options.format, names_of(scaling_format_table()));
  add_file_option(scaling, "--output", FileUse::writes, options.output,
                  "write the result to FILE, whole or not at all")
      ->default_str("standard output");
  add_progress_options(scaling, options.progress);
  add_measured_system_options(scaling, arguments.system);
}

/// Each name once, in the order given.
std::vector<std::string> without_repeats(const std::vector<std::string>& names) {
  std::vector<std::string> once;
  for (const auto& name : names) {
    if (std::ranges::find(once, name) == once.end()) once.push_back(name);
  }
  return once;
}

void check_weak(const ScalingOptions& options) {
  if (!options.weak || !options.system) return;
  const auto& text = options.system->operator_text;
  if (text.empty()) throw InputError("--weak: a file has one size; take --operator with a Laplacian");
  try {
    static_cast<void>(scaled_operator(text, 1, true));
  } catch (const InputError& error) {
    throw InputError(fmt::format("--weak: {}", error.what()));
  }
}

/// The system that the arguments name, with the options of all runs.
SystemOptions system_from(const ScalingArguments& arguments, const RunOptions& common) {
  auto system = measured_system_from("scaling", arguments.system);
  refuse_given(given_problem_options(!arguments.class_letter.empty(), arguments.problem),
               "not with a system of your own, FILE or --operator");
  system.configuration = common.configuration;
  if (!system.operator_text.empty() && !system.assembles)
    refuse_given({{"--kernel", system.configuration.has_kernel()}},
                 "only with a matrix: FILE, or --assembled");
  system.profile = common.profile;
  system.memory_limit_bytes = common.memory_limit_bytes;
  system.names_hosts = common.names_hosts;
  return system;
}

ScalingOptions scaling_options_from(const ScalingArguments& arguments) {
  constexpr int most = std::numeric_limits<int>::max();
  ScalingOptions options = arguments.options;
  options.common.configuration = configuration_from(arguments.axes);
  if (arguments.system.has_system()) {
    options.system = system_from(arguments, options.common);
  } else {
    refuse_system_options(arguments.system, {});
    const bool is_whole_problem = arguments.class_letter.empty() && arguments.problem.has_any();
    options.problem = problem_from(
        "scaling", arguments.class_letter.empty() && !is_whole_problem ? "A" : arguments.class_letter,
        arguments.problem);
  }
  for (const int count : options.core_counts) require_within("--cores", count, most);
  static_cast<void>(crossed({}, {{"transport", options.transports}}));  // they are checked by that
  options.transports = without_repeats(options.transports);
  const bool tries = std::ranges::count(options.transports, automatic_choice) > 0;
  if (tries && options.system)
    throw InputError("--transport auto: the scaling of a system takes transports by their names");
  check_weak(options);
  if (options.round_count) require_within("--repeat", *options.round_count, most);
  options.until_sure = until_sure_from(arguments.until_sure);
  require_known("--format", options.format, names_of(scaling_format_table()));
  settle_profile(options.system ? options.system->profile : options.common.profile, tries);
  return options;
}

}  // namespace

SubcommandRow scaling_subcommand() {
  return {.name = "scaling",
          .description = "compare ranks, shared-memory ranks and threads on the same cores",
          .examples = {"mpiexec -n 2 cg2d scaling --class S",
                       "mpiexec -n 2 cg2d scaling --class S --cores 1,2 --repeat 3 --format json"},
          .declare = subcommand_with<ScalingArguments, add_scaling_options,
                                     command_action<scaling_options_from, compare_cases, ScalingArguments>>};
}

}  // namespace cg2d
