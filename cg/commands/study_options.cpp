// The command lines of `cg2d sweep` and `cg2d scaling`.

#include "cg/commands/shared_options.hpp"
#include "cg/report/run_verdict.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/studies/scaling.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- options of both

/// --repeat, also --rounds, and --until-sure with --budget. subject: what is to be sure.
void add_rounds_options(Subcommand& command, StudyOptions& study, const std::string& subject) {
  command.add("--repeat,--rounds N", "runs of each configuration, interleaved", study.round_count,
              {.standing = "as many as the verdict needs", .most = any_count});
  command.add("--until-sure PERCENT",
              fmt::format("add rounds until {} is sure, or known to be within this of the others, such as 2%",
                          subject),
              study.until_sure, [](const std::string& text) {
                const auto precision = percentage_from(text);
                if (!precision || *precision <= 0.0)
                  throw InputError("--until-sure {}: must be a percentage above 0, such as 2%", text);
                return UntilSure{.precision = *precision};
              });
  command.add_texts("--budget TIME", "time for the rounds that --until-sure adds, such as 90s, 10min or 2h",
                    [&study](const Subcommand::Texts& texts) {
                      study.until_sure->budget_s = seconds_from("--budget", texts.front());
                    },
                    {.standing = "10min"});
  command.require_with("--budget", "--until-sure");
}

/// Whether one of add_problem_numbers() was given.
bool has_problem_numbers(const Subcommand& given) {
  const auto options = {"--n", "--nonzer", "--shift", "--niter", "--reference"};
  return std::ranges::any_of(options, [&](const auto* option) { return given.has(option); });
}

/// The system is there until check_work().
void add_system_options(Subcommand& command, StudyOptions& study) {
  auto& system = study.system.emplace();
  system.most_iterations = usual_iteration_count;
  command.begin_group("A system of your own, instead of the benchmark");
  add_matrix_options(command, system, "also assemble the matrix of --operator, and compare both forms");
  command.add("--iterations N", "iterations of CG in a run", system.most_iterations, {.most = any_count});
  add_form_options(command, system);
}

/// Checks what depends on the kind of work: a system of the user, which gets the options of all runs, or the benchmark. name: "a sweep".
void check_work(const std::string& command, const std::string& name, StudyOptions& study,
                const AxisValues& values, const Subcommand& given) {
  const bool tries_transports = std::ranges::count(values.at("transport"), automatic_choice) > 0;
  const bool measures_speeds = std::ranges::count(values.at("cut"), speed_cut) > 0;
  const bool is_system = !study.system->matrix_text().empty();
  if (is_system) {
    check_system(command, *study.system, given);
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
  if (!is_system) return study.system.reset();
  study.system = measured_system(*study.system);
  static_cast<SessionOptions&>(*study.system) = static_cast<const SessionOptions&>(study.common);
}

// ---------------------------------------------------------------- sweep

struct SweepArguments : SweepOptions {
  Problem problem;  ///< the last one of --class, with its numbers
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

/// Options that a system of this kind does not have.
void refuse_what_the_system_lacks(const SystemOptions& system, const Subcommand& given) {
  given.refuse({"--papi", "--roofline"},
               "a sweep of a system times only; cg2d solve counts and measures one configuration");
  given.refuse({"--why", "--paper"}, "only of the benchmark, whose phases a sweep keeps");
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

void check_sweep(SweepArguments& sweep, const Subcommand& given) {
  if (!sweep.shown_files.empty()) {
    sweep.file = given.text_of("--output");
    if (sweep.format == "json") given.refuse({"--why", "--paper"}, "goes with --format text");
    return;
  }
  if (sweep.format == "json") throw InputError("--format json: goes with --show only");
  const auto& values = sweep.axes.values;
  static_cast<void>(crossed({}, values));
  check_work("sweep", "a sweep", sweep, values, given);
  if (sweep.system) {
    refuse_what_the_system_lacks(*sweep.system, given);
  } else if (has_problem_numbers(given)) {  // they define the only one
    if (const auto letters = given.texts_of("--class"); letters.size() > 1)
      throw InputError("--class {}: with --n, --nonzer, --shift, --niter or --reference give one at most",
                       fmt::join(letters, ","));
    complete_problem("sweep", sweep.problem, given);
    sweep.axes.problems = {sweep.problem};
  }
  if (!sweep.extras.count_events()) refuse_ways_to_count(sweep.extras.counters);
}

ExitCode sweep_or_show(const SweepArguments& sweep, comm::RankGroup& group) {
  if (sweep.shown_files.empty()) return cg2d::sweep(sweep, group);
  return print_text(sweep.file, group, [&] {
    const auto records = read_all_results(sweep.shown_files);
    return sweep.format == "json" ? sweep_verdict_json(records) : sweep_tables(records, sweep.tables);
  });
}

// ---------------------------------------------------------------- scaling

void check_scaling(ScalingOptions& scaling, const Subcommand& given) {
  static_cast<void>(crossed(scaling.common.configuration, scaling.values));
  check_work("scaling", "the scaling", scaling, scaling.values, given);
  if (scaling.system) {
    if (scaling.system->is_matrix_free())
      given.refuse({"--kernel", "--cut"}, "only with a matrix: FILE, or --assembled");
    if (!scaling.weak) return;
    const auto& text = scaling.system->operator_text;
    if (text.empty()) throw InputError("--weak: a file has one size; take --operator with a Laplacian");
    try {
      static_cast<void>(scaled_operator(text, 1, true));
    } catch (const InputError& error) {
      throw InputError("--weak: {}", error.what());
    }
    return;
  }
  if (!given.has("--class") && !has_problem_numbers(given)) scaling.common.problem = problem_class("A");
  complete_problem("scaling", scaling.common.problem, given);
}

}  // namespace

void declare_sweep(Subcommand& command) {
  command.describe(
      "measure every grid, interleaved, and print which is best",
      {"mpiexec -n 4 cg2d sweep --class S --output sweep.jsonl", "cg2d sweep --show sweep.jsonl"});
  auto& sweep = command.with<SweepArguments>(&sweep_or_show);
  command.begin_group("Problem");
  add_classes_option(command, sweep.axes.problems, "A", {}, &sweep.problem);
  add_problem_numbers(command, sweep.problem);
  command.begin_group("Grid and configuration");
  command.add("--ranks N", "rank counts, such as 2,4,8", sweep.axes.rank_counts,
              {.standing = "all ranks started", .most = any_count});
  command.add("--px N", "process columns, such as 1,2,4", sweep.axes.columns,
              {.standing = "all that divide the ranks", .most = any_count});
  add_grids_option(command, sweep.axes.named, "sweep");
  for (const auto& axis : configuration_axes()) {
    if (axis.is_crossed) add_axis_list(command, axis.name, sweep.axes.values);
  }
  add_session_options(command, sweep.common);
  add_keep_disturbed_option(command, sweep.common.profile);
  add_bind_option(command, sweep.common.bind);
  command.begin_group("Rounds");
  add_rounds_options(command, sweep, "the best grid");
  command.add("--retries N",
              fmt::format("repetitions of a run that was disturbed by other work on the machine, {} at most",
                          most_sweep_retries),
              sweep.most_retries, {.is_from_zero = true, .most = most_sweep_retries});
  command.begin_group("Counters and limits, in runs of their own");
  add_event_options(command, sweep.extras.counters, sweep.extras.measures_limits, "none");
  command.begin_group("Output");
  command.add("--output FILE",
              "file that gets a line per run; a sweep goes on where it ends; with --show that of the tables",
              sweep.file, {.file = FileUse::updates, .uses_default_file = true});
  command.add("--fresh", "empty the file first", sweep.fresh);
  command.add("--show FILE", "print the tables of a file, and run nothing; may be given several times",
              sweep.shown_files, {.file = FileUse::reads, .is_repeated = true});
  command.add("--format text|json", "form of the result", sweep.format);
  command.add_texts("--why PXxPY,PXxPY", "explain the difference of these two grids, such as 2x4,1x8",
                    [&sweep](const auto& texts) { sweep.tables.why = compared_grids_from(texts); },
                    {.standing = "the best against others", .is_list = true});
  command.add("--paper", "also the clocks of each phase, as the paper's Tables 3 to 5 have them",
              sweep.tables.has_paper);
  add_progress_options(command, sweep.progress);
  add_system_options(command, sweep);
  command.add("--domain PXxPYxPZ", "divisions of a Laplacian without a matrix, such as 1x2x2,1x1x4",
              sweep.axes.domains, &domain_grid_from, {.standing = "all"});
  // Retries: of the runs that are made, none.
  command.exclude_others("--show",
                         {"--retries", "--format", "--output", "--why", "--paper", "--progress", "--quiet"});
  command.check = [&] { check_sweep(sweep, command); };
}

void declare_scaling(Subcommand& command) {
  command.describe("compare ranks, shared-memory ranks and threads on the same cores",
                   {"mpiexec -n 2 cg2d scaling --class S",
                    "mpiexec -n 2 cg2d scaling --class S --cores 1,2 --repeat 3 --format json"});
  auto& scaling = command.with<ScalingOptions>(&compare_cases);
  auto& configuration = scaling.common.configuration;
  command.begin_group("Problem");
  add_class_option(command, scaling.common.problem, "problem class", "A");
  add_problem_numbers(command, scaling.common.problem);
  command.begin_group("Ways");
  command.add("--cores N", "numbers of cores, such as 1,2,4", scaling.core_counts,
              {.standing = "powers of two up to the ranks started", .most = any_count});
  command.add("--weak", "weak scaling: n grows with the cores", scaling.weak);
  add_axis_list(command, "transport", scaling.values, "two-sided,shared where both can serve");
  add_axis_list(command, "cut", scaling.values);
  add_axis_option(command, "kernel", configuration, "matrix-vector product");
  add_session_options(command, scaling.common);
  add_axis_option(command, "ranks_per_node", configuration);
  command.begin_group("Rounds");
  add_rounds_options(command, scaling, "the best configuration");
  command.begin_group("Output");
  add_result_options(command, scaling.format, scaling_formats, scaling.output);
  command.add("--runs FILE", "file that gets a line per run; the comparison goes on where it ends",
              scaling.file, {.file = FileUse::updates});
  command.add("--fresh", "empty the file of --runs first", scaling.fresh);
  command.require_with("--fresh", "--runs");
  add_progress_options(command, scaling.progress);
  add_system_options(command, scaling);
  command.check = [&] { check_scaling(scaling, command); };
}

}  // namespace cg2d
