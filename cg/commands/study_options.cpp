// The command lines of `cg2d sweep` and `cg2d scaling`.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/paired_comparison.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/result_compare.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/studies/scaling.hpp"
#include "cg/studies/study.hpp"
#include "cg/studies/sweep.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- options of both

/// A study's options, with those that only the command line has.
template <typename Options>
struct StudyArguments : Options {
  ProblemArguments given_problem;
  SystemOptions given_system;
  int iteration_count = usual_iteration_count;
};

/// --repeat, also --rounds, and --until-sure with --budget. subject: what is to be sure.
void add_rounds_options(OptionSet& options, StudyOptions& study, const std::string& subject) {
  options.add("--repeat,--rounds N", "runs of each configuration, interleaved", study.round_count,
              {.standing = "as many as the verdict needs", .most = any_count});
  options.add("--until-sure PERCENT",
              fmt::format("add rounds until {} is sure, or known to be within this of the others, such as 2%",
                          subject),
              study.until_sure, [](const std::string& text) {
                const auto precision = percentage_from(text);
                if (!precision || *precision <= 0.0)
                  throw InputError("--until-sure {}: must be a percentage above 0, such as 2%", text);
                return UntilSure{.precision = *precision};
              });
  options.add_texts("--budget TIME", "time for the rounds that --until-sure adds, such as 90s, 10min or 2h",
                    false,
                    [&study](const OptionSet::Texts& texts) {
                      study.until_sure->budget_s = seconds_from("--budget", texts.front());
                    },
                    {.standing = "10min"});
  options.require_with("--budget", "--until-sure");
}

template <typename Options>
void add_system_options(OptionSet& options, StudyArguments<Options>& study) {
  options.begin_group("A system of your own, instead of the benchmark");
  add_matrix_options(options, study.given_system,
                     "also assemble the matrix of --operator, and compare both forms");
  options.add("--iterations N", "iterations of CG in a run", study.iteration_count, {.most = any_count});
  add_form_options(options, study.given_system);
}

bool has_value(const AxisValues& values, std::string_view axis, std::string_view value) {
  const auto found = values.find(axis);
  return found != values.end() && std::ranges::count(found->second, value) > 0;
}

/// Checks what depends on the kind of work: a system of the user, or the benchmark. The system's options, with those of all runs; nothing
/// for the benchmark. name: "a sweep".
template <typename Options>
std::optional<SystemOptions> studied_system(const std::string& command, const std::string& name,
                                            StudyArguments<Options>& study, const AxisValues& values,
                                            const OptionSet& given) {
  const bool tries_transports = has_value(values, "transport", automatic_choice);
  const bool measures_speeds = has_value(values, "cut", speed_cut);
  const bool is_system = has_system(study.given_system);
  if (is_system) {
    check_system(command, study.given_system, given);
    given.refuse({"--class", "--n", "--nonzer", "--shift", "--niter", "--reference"},
                 "not with a system of your own, FILE or --operator");
    if (tries_transports)
      throw InputError("--transport auto: {} of a system takes transports by their names", name);
    if (!measures_speeds)
      given.refuse({"--keep-disturbed"}, "only with --cut speed, whose measurement it keeps");
  } else {
    given.refuse({"--assembled", "--symmetrize", "--mirror", "--iterations", "--preconditioner", "--variant",
                  "--domain"},
                 "only with a system of your own: FILE or --operator");
    for (const auto& cut : values.at("cut")) require_cut_of_benchmark(cut);
  }
  resolve_profile(study.common.profile, tries_transports || measures_speeds);
  if (!is_system) return std::nullopt;
  auto system = measured_system(study.given_system, study.iteration_count);
  static_cast<SessionOptions&>(system) = static_cast<const SessionOptions&>(study.common);
  return system;
}

// ---------------------------------------------------------------- sweep

struct SweepArguments : StudyArguments<SweepOptions> {
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
  return {grids[0], grids[1]};
}

/// Runs after the timed ones.
void add_extra_run_options(OptionSet& options, ExtraRuns& extras) {
  options.begin_group("Counters and traces, in runs of their own");
  add_event_options(options, extras.counters, extras.measures_limits, "none");
  options.add("--trace-best",
              "write a time line of the best grid beside the file of --output, as NAME.trace.json",
              extras.traces_best);
  add_trace_steps_option(options, extras.trace.step_count, "--trace-best");
}

void add_axes_group(OptionSet& options, SweepArguments& sweep) {
  options.begin_group("Problem");
  add_classes_option(options, sweep.axes.problems, "A");
  add_problem_options(options, sweep.given_problem);
  options.begin_group("Grid and configuration");
  options.add("--ranks N", "rank counts, such as 2,4,8", sweep.axes.rank_counts,
              {.standing = "all ranks started", .most = any_count});
  options.add("--px N", "process columns, such as 1,2,4", sweep.axes.columns,
              {.standing = "all that divide the ranks", .most = any_count});
  add_grids_option(options, sweep.axes.named, "sweep");
  for (const auto& axis : configuration_axes()) {
    if (axis.is_crossed()) add_axis_list(options, axis.name, sweep.axes.values);
  }
  add_session_options(options, sweep.common);
  add_keep_disturbed_option(options, sweep.common.profile);
  add_bind_option(options, sweep.common.bind);
}

void add_rounds_group(OptionSet& options, SweepOptions& sweep) {
  options.begin_group("Rounds");
  add_rounds_options(options, sweep, "the best grid");
  options.add("--retries N",
              fmt::format("repetitions of a run that was disturbed by other work on the machine, {} at most",
                          most_sweep_retries),
              sweep.most_retries, {.is_from_zero = true, .most = most_sweep_retries});
}

void add_results_group(OptionSet& options, SweepArguments& sweep) {
  options.begin_group("Output");
  options.add("--output FILE",
              "file that gets a line per run; a sweep goes on where it ends; with --show that of the tables",
              sweep.file, {.file = FileUse::updates, .uses_default_file = true});
  options.add("--fresh", "empty the file first", sweep.fresh);
  options.add("--show FILE", "print the tables of a file, and run nothing; may be given several times",
              sweep.shown_files, {.file = FileUse::reads, .is_repeated = true});
  options.add("--format text|json", "form of the result", sweep.format);
  options.add_texts("--why PXxPY,PXxPY", "explain the difference of these two grids, such as 2x4,1x8", true,
                    [&sweep](const auto& texts) { sweep.tables.why = compared_grids_from(texts); },
                    {.standing = "the best against others"});
  options.add("--paper", "also Tables 2 to 6 of the paper, in its form", sweep.tables.has_paper);
  add_progress_options(options, sweep.progress);
}

void add_sweep_options(OptionSet& options, SweepArguments& sweep) {
  add_axes_group(options, sweep);
  add_rounds_group(options, sweep);
  add_extra_run_options(options, sweep.extras);
  add_results_group(options, sweep);
  add_system_options(options, sweep);
  options.add("--domain PXxPYxPZ", "divisions of a Laplacian without a matrix, such as 1x2x2,1x1x4",
              sweep.axes.domains, &domain_grid_from, {.standing = "all"});
  // Retries: of the runs that are made, none.
  options.exclude_others("--show",
                         {"--retries", "--format", "--output", "--why", "--paper", "--progress", "--quiet"});
}

/// The numbers of a problem, where there are any, define the only one.
void resolve_problems(SweepArguments& sweep, const OptionSet& given) {
  if (!sweep.given_problem.has_any()) return;
  if (given.texts_of("--class").size() > 1)
    throw InputError("--class {}: with --n, --nonzer, --shift, --niter or --reference give one at most",
                     fmt::join(given.texts_of("--class"), ","));
  sweep.given_problem.class_letter = given.text_of("--class");
  sweep.axes.problems = {problem_from("sweep", sweep.given_problem)};
}

/// Options that a system of this kind does not have.
void refuse_what_the_system_lacks(const SystemOptions& system, const OptionSet& given) {
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

void check_sweep(SweepArguments& sweep, const OptionSet& given) {
  const auto& values = sweep.axes.values;
  static_cast<void>(crossed({}, values));
  sweep.system = studied_system("sweep", "a sweep", sweep, values, given);
  if (sweep.system) {
    refuse_what_the_system_lacks(*sweep.system, given);
  } else {
    resolve_problems(sweep, given);
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

// ---------------------------------------------------------------- scaling

using ScalingArguments = StudyArguments<ScalingOptions>;

void add_ways_group(OptionSet& options, ScalingArguments& scaling) {
  auto& configuration = scaling.common.configuration;
  options.begin_group("Ways");
  options.add("--cores N", "numbers of cores, such as 1,2,4", scaling.core_counts,
              {.standing = "powers of two up to the ranks started", .most = any_count});
  options.add("--weak", "weak scaling: n grows with the cores", scaling.weak);
  add_axis_list(options, "transport", scaling.values, "two-sided,shared where both can serve");
  add_axis_list(options, "cut", scaling.values);
  add_axis_option(options, "kernel", configuration, "matrix-vector product");
  add_session_options(options, scaling.common);
  add_axis_option(options, "ranks_per_node", configuration);
}

void add_scaling_options(OptionSet& options, ScalingArguments& scaling) {
  options.begin_group("Problem");
  options.add("--class " + one_of(class_letters()), "problem class", scaling.given_problem.class_letter,
              {.standing = "A"});
  add_problem_options(options, scaling.given_problem);
  add_ways_group(options, scaling);
  options.begin_group("Rounds");
  add_rounds_options(options, scaling, "the best configuration");
  options.begin_group("Output");
  add_result_options(options, scaling.format, scaling_formats, scaling.output);
  options.add("--runs FILE", "file that gets a line per run; the comparison goes on where it ends",
              scaling.file, {.file = FileUse::updates});
  options.add("--fresh", "empty the file of --runs first", scaling.fresh);
  options.require_with("--fresh", "--runs");
  add_progress_options(options, scaling.progress);
  add_system_options(options, scaling);
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

void check_scaling(ScalingArguments& scaling, const OptionSet& given) {
  static_cast<void>(crossed(scaling.common.configuration, scaling.values));
  scaling.system = studied_system("scaling", "the scaling", scaling, scaling.values, given);
  if (scaling.system) {
    if (scaling.system->is_matrix_free())
      given.refuse({"--kernel", "--cut"}, "only with a matrix: FILE, or --assembled");
    return check_weak(scaling);
  }
  auto& problem = scaling.given_problem;
  if (problem.class_letter.empty() && !problem.has_any()) problem.class_letter = "A";
  scaling.problem = problem_from("scaling", problem);
}

}  // namespace

SubcommandRows study_subcommands() {
  return {{.name = "sweep",
           .description = "measure every grid, interleaved, and print which is best",
           .examples = {"mpiexec -n 4 cg2d sweep --class S --output sweep.jsonl",
                        "cg2d sweep --show sweep.jsonl"},
           .declare = subcommand_with<add_sweep_options, sweep_action>},
          {.name = "scaling",
           .description = "compare ranks, shared-memory ranks and threads on the same cores",
           .examples = {"mpiexec -n 2 cg2d scaling --class S",
                        "mpiexec -n 2 cg2d scaling --class S --cores 1,2 --repeat 3 --format json"},
           .declare = subcommand_with<add_scaling_options, check_scaling, compare_cases>}};
}

}  // namespace cg2d
