// The command line of `cg2d sweep`.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/result_file.hpp"
#include "cg/studies/sweep_command.hpp"
#include "cg/studies/sweep_table.hpp"
#include "cg/studies/sweep_verdict.hpp"

namespace cg2d {
namespace {

/// The parsed arguments of `cg2d sweep`; `options` has those that need no conversion.
struct SweepArguments {
  std::vector<std::string> class_letters;
  ProblemArguments problem;
  std::string bind = "auto";
  UntilSureArguments until_sure;
  std::vector<std::string> shown_files;
  std::string format = "text";
  SweepOptions options;
};

/// The formats that --show takes.
std::vector<std::string> verdict_formats() { return {"text", "json"}; }

void add_sweep_options(CLI::App& sweep, SweepArguments& arguments) {
  auto& options = arguments.options;
  auto& axes = options.axes;
  add_list_option(sweep, "--class", arguments.class_letters, "classes, such as A or A,B; A if not given");
  add_problem_options(sweep, arguments.problem);
  add_list_option(sweep, "--ranks", axes.rank_counts,
                  "rank counts, such as 2,4,8; all ranks started if not given");
  add_list_option(sweep, "--px", axes.columns,
                  "process columns, such as 1,2,4; all that divide the ranks if not given");
  add_axis_lists(sweep, axes.values);
  add_profile_options(sweep, options.common.profile, profile_is_used());
  add_keep_disturbed_option(sweep, options.common.profile);
  add_bind_option(sweep, arguments.bind);
  add_memory_limit_option(sweep, options.common.memory_limit_bytes);
  add_number_option(
      sweep, "--repeat", options.round_count,
      "rounds: runs of each configuration; as many as a verdict on these grids needs if not given");
  add_number_option(
      sweep, "--retries", options.most_retries,
      "repetitions of a run that was disturbed by other work on the machine; 2 if not given, 8 at most");
  add_host_name_option(sweep, options.common.names_hosts);
  add_until_sure_options(sweep, arguments.until_sure, "the best grid");
  add_file_option(sweep, "--output", options.output,
                  "file that gets a line per run; a sweep goes on where it ends");
  sweep.add_flag("--fresh", options.fresh, "empty the file first");
  sweep
      .add_option("--show", arguments.shown_files,
                  "print the tables of a file, and run nothing; may be given several times")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(file_name())
      ->type_name("FILE");
  add_format_option(sweep, arguments.format, verdict_formats());
  sweep.add_flag("--progress", options.progress, "progress on stderr (a terminal gets it anyway)");
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

SweepOptions sweep_options_from(const SweepArguments& arguments) {
  SweepOptions options = arguments.options;
  options.axes.problems = problems_from(arguments);
  options.common.bind = bind_mode_from(arguments.bind);
  if (options.round_count) require_within("--repeat", *options.round_count, std::numeric_limits<int>::max());
  if (options.most_retries < 0 || options.most_retries > most_sweep_retries) {
    throw InputError(
        fmt::format("--retries {}: must be within 0 ... {}", options.most_retries, most_sweep_retries));
  }
  options.until_sure = until_sure_from(arguments.until_sure);
  check_axes(options.axes);
  check_profile(options.common.profile);
  return options;
}

Action sweep_action(const SweepArguments& arguments) {
  require_known("--format", arguments.format, verdict_formats());
  if (!arguments.shown_files.empty()) {
    return print_made_text([files = arguments.shown_files, format = arguments.format] {
      const auto records = read_all_results(files);
      return format == "json" ? sweep_verdict_json(records) : sweep_tables(records);
    });
  }
  if (arguments.format == "json") throw InputError("--format json: goes with --show only");
  return command_action<sweep_options_from, sweep>(arguments);
}

}  // namespace

SubcommandRow sweep_subcommand() {
  return {.name = "sweep",
          .description = "measure every grid in turns, and print which is best",
          .declare = subcommand_with<SweepArguments, add_sweep_options, sweep_action>};
}

}  // namespace cg2d
