// The command line of `cg2d sweep`.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/help/described_option.hpp"
#include "cg/commands/measured_system_options.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/result_file.hpp"
#include "cg/run/solve/solve_report.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/studies/sweep_command.hpp"
#include "cg/studies/sweep_table.hpp"
#include "cg/studies/sweep_verdict.hpp"

namespace cg2d {
namespace {

/// The parsed arguments of `cg2d sweep`; `options` has those that need no conversion.
struct SweepArguments {
  std::vector<std::string> class_letters;
  ProblemArguments problem;
  MeasuredSystemArguments system;
  std::vector<std::string> domains;
  std::vector<std::string> cuts;
  std::vector<std::string> grids;
  std::string bind = "auto";
  UntilSureArguments until_sure;
  std::string output;  ///< empty: not given
  std::vector<std::string> shown_files;
  std::string format = "text";
  std::vector<std::string> why;
  bool has_paper = false;
  SweepOptions options;
};

/// The formats that --show takes.
std::vector<std::string> verdict_formats() { return {"text", "json"}; }

/// Runs after the timed ones.
void add_extra_run_options(CLI::App& sweep, ExtraRuns& extras) {
  sweep.option_defaults()->group("Counters and traces, in runs of their own");
  add_event_option(sweep, extras.counters)->default_str("none");
  add_limits_option(sweep, extras.measures_limits);
  sweep.add_flag("--trace-best", extras.traces_best,
                 "write a time line of the best grid beside the file of --output, as NAME.trace.json");
  add_trace_steps_option(sweep, extras.trace);
  sweep.get_option("--trace-steps")->needs(sweep.get_option("--trace-best"));
}

void add_sweep_options(CLI::App& sweep, SweepArguments& arguments) {
  auto& options = arguments.options;
  auto& axes = options.axes;
  sweep.option_defaults()->group("Problem");
  add_list_option(sweep, "--class", arguments.class_letters, "classes, such as A or A,B")
      ->type_name(type_of_values(class_letters()))
      ->default_str("A");
  add_problem_options(sweep, arguments.problem);
  sweep.option_defaults()->group("Grid and configuration");
  add_list_option(sweep, "--ranks", axes.rank_counts, "rank counts, such as 2,4,8")
      ->default_str("all ranks started");
  add_list_option(sweep, "--px", axes.columns, "process columns, such as 1,2,4")
      ->default_str("all that divide the ranks");
  add_list_option(sweep, "--grid", arguments.grids, "grids, such as 1x4,2x2")
      ->type_name(type_of_values({"PXxPY", "official"}))
      ->default_str("all of the ranks");
  add_axis_lists(sweep, axes.values);
  add_profile_options(sweep, options.common.profile, profile_is_used());
  add_keep_disturbed_option(sweep, options.common.profile);
  add_bind_option(sweep, arguments.bind);
  add_memory_limit_option(sweep, options.common.memory_limit_bytes);
  sweep.option_defaults()->group("Rounds");
  add_number_option(sweep, "--repeat,--rounds", options.round_count,
                    "runs of each configuration, interleaved")
      ->default_str("as many as the verdict needs");
  add_number_option(
      sweep, "--retries", options.most_retries,
      fmt::format("repetitions of a run that was disturbed by other work on the machine, {} at most",
                  most_sweep_retries));
  add_until_sure_options(sweep, arguments.until_sure, "the best grid");
  add_extra_run_options(sweep, options.extras);
  sweep.option_defaults()->group("Output");
  add_host_name_option(sweep, options.common.names_hosts);
  add_file_option(
      sweep, "--output", FileUse::updates, arguments.output,
      "file that gets a line per run; a sweep goes on where it ends; with --show that of the tables")
      ->check(default_is_a_file())
      ->default_str(options.output);
  sweep.add_flag("--fresh", options.fresh, "empty the file first");
  sweep
      .add_option("--show", arguments.shown_files,
                  "print the tables of a file, and run nothing; may be given several times")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(file_name(FileUse::reads))
      ->type_name("FILE");
  add_format_option(sweep, arguments.format, verdict_formats());
  add_list_option(sweep, "--why", arguments.why, "explain the difference of these two grids, such as 2x4,1x8")
      ->type_name("PXxPY,PXxPY")
      ->default_str("the best against others");
  sweep.add_flag("--paper", arguments.has_paper, "also Tables 2 to 6 of the paper, in its form");
  add_progress_options(sweep, options.progress);
  add_measured_system_options(sweep, arguments.system);
  add_list_option(sweep, "--domain", arguments.domains,
                  "cuts of a Laplacian without a matrix, such as 1x2x2,1x1x4")
      ->type_name("PXxPYxPZ")
      ->default_str("all");
  add_list_option(sweep, "--cut", arguments.cuts, "pieces of a matrix, one or several of these")
      ->type_name(type_of_values({"nonzeros", "even", "random:SEED"}))
      ->default_str("nonzeros");
  // Retries: of the runs that are made, none.
  exclude_others(sweep, "--show",
                 {"--retries", "--format", "--output", "--why", "--paper", "--progress", "--quiet"});
}

void check_axes(const SweepAxes& axes) {
  constexpr int most = std::numeric_limits<int>::max();
  static_cast<void>(crossed({}, axes.values));
  for (const int count : axes.rank_counts) require_within("--ranks", count, most);
  for (const int columns : axes.columns) require_within("--px", columns, most);
}

/// The classes, or the one problem that the numbers define.
std::vector<Problem> problems_from(const SweepArguments& arguments) {
  const auto& letters = arguments.class_letters;
  if (arguments.problem.has_any()) {
    if (letters.size() > 1) {
      throw InputError(
          fmt::format("--class {}: with --n, --nonzer, --shift, --niter or --reference give one at most",
                      fmt::join(letters, ",")));
    }
    return {problem_from("sweep", letters.empty() ? "" : letters.front(), arguments.problem)};
  }
  return problem_classes(letters, {"A"});
}

SweepTableOptions table_options_from(const SweepArguments& arguments) {
  SweepTableOptions options{.has_paper = arguments.has_paper};
  if (arguments.why.empty()) return options;
  const auto grids = named_grids("sweep --why", arguments.why);
  if (grids.size() != 2 || grids[0] == grids[1] || grids[0].rank_count() != grids[1].rank_count()) {
    throw InputError(fmt::format("--why {}: must be two different grids of as many ranks, such as 2x4,1x8",
                                 fmt::join(arguments.why, ",")));
  }
  options.why = GridPair{.one = grids[0], .other = grids[1]};
  return options;
}

bool tries_transports(const AxisValues& values) {
  const auto transports = values.find("transport");
  return transports != values.end() && std::ranges::count(transports->second, automatic_choice) > 0;
}

/// Options that a system of this kind does not have.
void refuse_what_the_system_lacks(const SweepArguments& arguments, const SystemOptions& system) {
  const auto& axes = arguments.options.axes;
  refuse_given(given_problem_options(!arguments.class_letters.empty(), arguments.problem),
               "not with a system of your own, FILE or --operator");
  refuse_given({{"--keep-disturbed", arguments.options.common.profile.keeps_disturbed}},
               "the runs of a system measure no transports");
  const auto& extras = arguments.options.extras;
  refuse_given({{"--papi", extras.count_events()},
                {"--roofline", extras.measures_limits},
                {"--trace-best", extras.traces_best}},
               "a sweep of a system times only; cg2d solve counts, measures and traces one configuration");
  const auto* const row = system.operator_text.empty() ? nullptr : find_matrix_free(system.operator_text);
  const bool cuts_domain = row != nullptr && !row->uses_grid;
  const bool has_matrix = system.operator_text.empty() || system.assembles;
  if (!cuts_domain)
    refuse_given({{"--domain", !arguments.domains.empty()}},
                 "only with a Laplacian, which is cut as a domain");
  if (!has_matrix)
    refuse_given({{"--cut", !arguments.cuts.empty()}}, "only with a matrix: FILE, or --assembled");
  if (cuts_domain && !has_matrix) {
    refuse_given(
        {{"--px", !axes.columns.empty()},
         {"--grid", !arguments.grids.empty()},
         {"--kernel", has_values(axes.values, "kernel")},
         {"--sum", has_values(axes.values, "sum_form")},
         {"--overlap", has_values(axes.values, "overlap")}},
        fmt::format("{} without a matrix is cut by --domain; take --assembled for grids, too", row->name));
  }
  if (find_preconditioner(system.preconditioner)->needs_diagonal_block && row != nullptr)
    throw InputError(fmt::format(
        "--preconditioner {}: needs the entries of a matrix, which --operator without one has not",
        system.preconditioner));
}

/// The system that the arguments name, with the options of all runs. Adds its axes.
SystemOptions system_from(const SweepArguments& arguments, SweepAxes& axes) {
  auto system = measured_system_from("sweep", arguments.system);
  refuse_what_the_system_lacks(arguments, system);
  if (tries_transports(axes.values))
    throw InputError("--transport auto: a sweep of a system takes transports by their names");
  for (const auto& text : arguments.domains) axes.domains.push_back(domain_grid_from(text));
  axes.cuts = arguments.cuts;
  if (axes.cuts.empty()) axes.cuts.push_back(cut_text(system));
  for (const auto& text : axes.cuts) {
    SystemOptions checked;
    set_cut(checked, text);
  }
  const auto& common = arguments.options.common;
  system.profile = common.profile;
  system.memory_limit_bytes = common.memory_limit_bytes;
  system.names_hosts = common.names_hosts;
  system.bind = bind_mode_from(arguments.bind);
  settle_profile(system.profile, false);
  return system;
}

SweepOptions sweep_options_from(const SweepArguments& arguments) {
  SweepOptions options = arguments.options;
  options.axes.named = named_grids_from("sweep", arguments.grids);
  check_axes(options.axes);
  if (arguments.system.has_system()) {
    options.system = system_from(arguments, options.axes);
  } else {
    refuse_system_options(arguments.system,
                          {{"--domain", !arguments.domains.empty()}, {"--cut", !arguments.cuts.empty()}});
    options.axes.problems = problems_from(arguments);
    options.common.bind = bind_mode_from(arguments.bind);
    settle_profile(options.common.profile, tries_transports(options.axes.values));
  }
  if (!arguments.output.empty()) options.output = arguments.output;
  if (options.round_count) require_within("--repeat", *options.round_count, std::numeric_limits<int>::max());
  if (options.most_retries < 0 || options.most_retries > most_sweep_retries) {
    throw InputError(
        fmt::format("--retries {}: must be within 0 ... {}", options.most_retries, most_sweep_retries));
  }
  options.until_sure = until_sure_from(arguments.until_sure);
  check_counter_options(options.extras.counters, options.extras.trace);
  options.tables = table_options_from(arguments);
  return options;
}

Action sweep_action(const SweepArguments& arguments) {
  require_known("--format", arguments.format, verdict_formats());
  if (!arguments.shown_files.empty()) {
    return print_made_text(
        [files = arguments.shown_files, format = arguments.format, options = table_options_from(arguments)] {
          const auto records = read_all_results(files);
          return format == "json" ? sweep_verdict_json(records) : sweep_tables(records, options);
        },
        arguments.output);
  }
  if (arguments.format == "json") throw InputError("--format json: goes with --show only");
  return command_action<sweep_options_from, sweep>(arguments);
}

}  // namespace

SubcommandRow sweep_subcommand() {
  return {
      .name = "sweep",
      .description = "measure every grid, interleaved, and print which is best",
      .examples = {"mpiexec -n 4 cg2d sweep --class S --output sweep.jsonl", "cg2d sweep --show sweep.jsonl"},
      .declare = subcommand_with<SweepArguments, add_sweep_options, sweep_action>};
}

}  // namespace cg2d
