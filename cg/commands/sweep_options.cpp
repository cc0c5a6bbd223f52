// The command line of `cg2d sweep`.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cg/commands/measured_system_options.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/studies/sweep.hpp"

namespace cg2d {
namespace {

/// The options, with those that only the command line has.
struct SweepArguments : SweepOptions {
  ProblemArguments given_problem;
  MeasuredSystem measured;
  std::vector<std::string> shown_files;
  std::string format = "text";
};

GridPair compared_grids_from(const std::vector<std::string>& texts) {
  std::vector<comm::ProcessGrid> grids;
  grids.reserve(texts.size());
  for (const auto& text : texts) grids.push_back(named_grid_from("sweep --why", text));
  if (grids.size() != 2 || grids[0] == grids[1] || grids[0].rank_count() != grids[1].rank_count())
    throw InputError("--why {}: must be two different grids of as many ranks, such as 2x4,1x8",
                     fmt::join(texts, ","));
  return {.one = grids[0], .other = grids[1]};
}

int retries_from(const std::string& option, const std::string& text) {
  const int count = decimal_from<int>(option, text);
  if (count < 0 || count > most_sweep_retries)
    throw InputError("{} {}: must be within 0 ... {}", option, count, most_sweep_retries);
  return count;
}

/// Runs after the timed ones.
void add_extra_run_options(OptionSet& options, ExtraRuns& extras) {
  options.begin_group("Counters and traces, in runs of their own");
  add_event_options(options, extras.counters, "none");
  add_limits_option(options, extras.measures_limits);
  options.add_flag("--trace-best",
                   "write a time line of the best grid beside the file of --output, as NAME.trace.json",
                   extras.traces_best);
  add_trace_steps_option(options, extras.trace.step_count, "--trace-best");
}

void add_axes_group(OptionSet& options, SweepArguments& sweep) {
  options.begin_group("Problem");
  add_classes_option(options, sweep.axes.problems, "A");
  add_problem_options(options, sweep.given_problem);
  options.begin_group("Grid and configuration");
  options.add_list({"--ranks", "N", "rank counts, such as 2,4,8", "all ranks started"},
                   sweep.axes.rank_counts, {.most = any_count});
  options.add_list({"--px", "N", "process columns, such as 1,2,4", "all that divide the ranks"},
                   sweep.axes.columns, {.most = any_count});
  add_grids_option(options, sweep.axes.named, "sweep");
  add_axis_lists(options, sweep.axes.values);
  add_profile_options(options, sweep.common.profile);
  add_keep_disturbed_option(options, sweep.common.profile);
  add_bind_option(options, sweep.common.bind);
  add_memory_limit_option(options, sweep.common.memory_limit_bytes);
}

void add_rounds_group(OptionSet& options, SweepOptions& sweep) {
  options.begin_group("Rounds");
  add_rounds_option(options, sweep.round_count);
  options.add({"--retries", "N",
               fmt::format("repetitions of a run that was disturbed by other work on the machine, {} at most",
                           most_sweep_retries),
               fmt::format("{}", sweep.most_retries)},
              sweep.most_retries, &retries_from);
  add_until_sure_options(options, sweep.until_sure, "the best grid");
}

void add_results_group(OptionSet& options, SweepArguments& sweep) {
  options.begin_group("Output");
  add_host_name_option(options, sweep.common.names_hosts);
  options.add(
      {"--output", "FILE",
       "file that gets a line per run; a sweep goes on where it ends; with --show that of the tables"},
      sweep.output, {.file = FileUse::updates, .uses_default_file = true});
  options.add_flag("--fresh", "empty the file first", sweep.fresh);
  options.add_list(
      {"--show", "FILE", "print the tables of a file, and run nothing; may be given several times"},
      sweep.shown_files, {.file = FileUse::reads, .is_repeated = true});
  add_format_option(options, sweep.format, {"text", "json"});
  options.add_texts({"--why", "PXxPY,PXxPY", "explain the difference of these two grids, such as 2x4,1x8",
                     "the best against others"},
                    true, [&sweep](const auto& texts) { sweep.tables.why = compared_grids_from(texts); });
  options.add_flag("--paper", "also Tables 2 to 6 of the paper, in its form", sweep.tables.has_paper);
  add_progress_options(options, sweep.progress);
}

void add_sweep_options(OptionSet& options, SweepArguments& sweep) {
  add_axes_group(options, sweep);
  add_rounds_group(options, sweep);
  add_extra_run_options(options, sweep.extras);
  add_results_group(options, sweep);
  add_measured_system_options(options, sweep.measured);
  options.add_list(
      {"--domain", "PXxPYxPZ", "divisions of a Laplacian without a matrix, such as 1x2x2,1x1x4", "all"},
      sweep.axes.domains, &domain_grid_from);
  // Retries: of the runs that are made, none.
  options.exclude_others("--show",
                         {"--retries", "--format", "--output", "--why", "--paper", "--progress", "--quiet"});
}

/// The classes, or the one problem that the numbers define, become the problems of the axes.
void resolve_problems(SweepArguments& sweep, const OptionSet& given) {
  auto& problems = sweep.axes.problems;
  if (sweep.given_problem.has_any()) {
    if (problems.size() > 1) {
      throw InputError("--class {}: with --n, --nonzer, --shift, --niter or --reference give one at most",
                       fmt::join(given.texts_of("--class"), ","));
    }
    sweep.given_problem.class_letter = given.text_of("--class");
    problems = {problem_from("sweep", sweep.given_problem)};
  }
  if (problems.empty()) problems.push_back(problem_class("A"));
}

/// Options that a system of this kind does not have.
void refuse_what_the_system_lacks(const SystemOptions& system, const OptionSet& given, bool keeps_speeds) {
  if (!keeps_speeds) given.refuse({"--keep-disturbed"}, "only with --cut speed, whose measurement it keeps");
  given.refuse({"--papi", "--roofline", "--trace-best"},
               "a sweep of a system times only; cg2d solve counts, measures and traces one configuration");
  const auto* const row = system.operator_text.empty() ? nullptr : find_matrix_free(system.operator_text);
  const bool cuts_domain = row != nullptr && !row->uses_grid;
  const bool has_matrix = system.operator_text.empty() || system.assembles;
  if (!cuts_domain) given.refuse({"--domain"}, "only with a Laplacian, which is cut as a domain");
  if (!has_matrix) given.refuse({"--cut"}, "only with a matrix: FILE, or --assembled");
  if (cuts_domain && !has_matrix)
    given.refuse(
        {"--px", "--grid", "--kernel", "--sum", "--overlap"},
        fmt::format("{} without a matrix is cut by --domain; take --assembled for grids, too", row->name));
  if (find_preconditioner(system.preconditioner)->needs_diagonal_block && row != nullptr)
    throw InputError(
        "--preconditioner {}: needs the entries of a matrix, which --operator without one has not",
        system.preconditioner);
}

/// The system that was given, with the options of all runs. Adds its axes.
SystemOptions system_from(SweepArguments& sweep, const OptionSet& given) {
  auto system = measured_system_from("sweep", sweep.measured, given);
  const bool measures = measures_speeds(sweep.axes.values);
  refuse_what_the_system_lacks(system, given, measures);
  if (tries_transports(sweep.axes.values))
    throw InputError("--transport auto: a sweep of a system takes transports by their names");
  system.profile = sweep.common.profile;
  system.memory_limit_bytes = sweep.common.memory_limit_bytes;
  system.names_hosts = sweep.common.names_hosts;
  system.bind = sweep.common.bind;
  resolve_profile(system.profile, measures);
  return system;
}

void check_sweep(SweepArguments& sweep, const OptionSet& given) {
  static_cast<void>(crossed({}, sweep.axes.values));
  if (has_system(sweep.measured.options)) {
    sweep.system = system_from(sweep, given);
  } else {
    refuse_system_options(given);
    for (const auto& cut : sweep.axes.values["cut"]) require_cut_of_benchmark(cut);
    resolve_problems(sweep, given);
    resolve_profile(sweep.common.profile,
                    tries_transports(sweep.axes.values) || measures_speeds(sweep.axes.values));
  }
  if (!sweep.extras.count_events()) refuse_ways_to_count(sweep.extras.counters);
}

Action sweep_action(SweepArguments& sweep, const OptionSet& given) {
  if (!sweep.shown_files.empty()) {
    return print_made_text(
        [files = sweep.shown_files, format = sweep.format, options = sweep.tables] {
          const auto records = read_all_results(files);
          return format == "json" ? sweep_verdict_json(records) : sweep_tables(records, options);
        },
        given.text_of("--output"));
  }
  if (sweep.format == "json") throw InputError("--format json: goes with --show only");
  return checked_action<&check_sweep, &cg2d::sweep>(sweep, given);
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
