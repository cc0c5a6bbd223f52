// The command line of `cg2d scaling`.

#include "cg/commands/measured_system_options.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/studies/scaling.hpp"

namespace cg2d {
namespace {

/// The options, with those that only the command line has.
struct ScalingArguments : ScalingOptions {
  ProblemArguments given_problem;
  MeasuredSystem measured;
};

void add_ways_group(OptionSet& options, ScalingArguments& scaling) {
  auto& configuration = scaling.common.configuration;
  options.begin_group("Ways");
  options.add_list(
      {"--cores", "N", "numbers of cores, such as 1,2,4", "powers of two up to the ranks started"},
      scaling.core_counts, {.most = any_count});
  options.add_flag("--weak", "weak scaling: n grows with the cores", scaling.weak);
  add_axis_list(options, "transport", scaling.values, "two-sided,shared where both can serve");
  add_axis_list(options, "cut", scaling.values);
  add_axis_option(options, "kernel", configuration, "matrix-vector product");
  add_profile_options(options, scaling.common.profile);
  add_memory_limit_option(options, scaling.common.memory_limit_bytes);
  add_axis_option(options, "ranks_per_node", configuration);
}

void add_scaling_options(OptionSet& options, ScalingArguments& scaling) {
  options.begin_group("Problem");
  add_class_option(options, scaling.given_problem.class_letter, "problem class", "A");
  add_problem_options(options, scaling.given_problem);
  add_ways_group(options, scaling);
  options.begin_group("Rounds");
  add_rounds_option(options, scaling.round_count);
  add_until_sure_options(options, scaling.until_sure, "the best configuration");
  options.begin_group("Output");
  add_host_name_option(options, scaling.common.names_hosts);
  add_result_options(options, scaling.format, scaling_formats, scaling.output);
  add_progress_options(options, scaling.progress);
  add_measured_system_options(options, scaling.measured);
}

void check_weak(const ScalingOptions& scaling) {
  if (!scaling.weak || !scaling.system) return;
  const auto& text = scaling.system->operator_text;
  if (text.empty()) throw InputError("--weak: a file has one size; take --operator with a Laplacian");
  try {
    static_cast<void>(scaled_operator(text, 1, true));
  } catch (const InputError& error) {
    throw InputError("--weak: {}", error.what());
  }
}

/// The system that was given, with the options of all runs.
SystemOptions system_from(const ScalingArguments& scaling, const OptionSet& given) {
  auto system = measured_system_from("scaling", scaling.measured, given);
  system.configuration = scaling.common.configuration;
  if (!system.operator_text.empty() && !system.assembles)
    given.refuse({"--kernel", "--cut"}, "only with a matrix: FILE, or --assembled");
  system.profile = scaling.common.profile;
  system.memory_limit_bytes = scaling.common.memory_limit_bytes;
  system.names_hosts = scaling.common.names_hosts;
  return system;
}

void check_scaling(ScalingArguments& scaling, const OptionSet& given) {
  static_cast<void>(crossed(scaling.common.configuration, scaling.values));
  if (has_system(scaling.measured.options)) {
    scaling.system = system_from(scaling, given);
  } else {
    refuse_system_options(given);
    for (const auto& cut : scaling.values["cut"]) require_cut_of_benchmark(cut);
    auto& problem = scaling.given_problem;
    if (problem.class_letter.empty() && !problem.has_any()) problem.class_letter = "A";
    scaling.problem = problem_from("scaling", problem);
  }
  if (scaling.system && tries_transports(scaling.values))
    throw InputError("--transport auto: the scaling of a system takes transports by their names");
  check_weak(scaling);
  resolve_profile(scaling.system ? scaling.system->profile : scaling.common.profile,
                  tries_transports(scaling.values) || measures_speeds(scaling.values));
}

}  // namespace

SubcommandRow scaling_subcommand() {
  return {.name = "scaling",
          .description = "compare ranks, shared-memory ranks and threads on the same cores",
          .examples = {"mpiexec -n 2 cg2d scaling --class S",
                       "mpiexec -n 2 cg2d scaling --class S --cores 1,2 --repeat 3 --format json"},
          .declare = subcommand_with<ScalingArguments, add_scaling_options, check_scaling, compare_cases>};
}

}  // namespace cg2d
