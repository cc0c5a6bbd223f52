// The command lines of `cg2d run` and `cg2d solve`.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/report.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "comm/communicator.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- options of both

/// The grid, the axes, the settings of kernels, the profile, and the memory.
void add_grid_options(OptionSet& options, SessionOptions& session) {
  options.begin_group("Grid");
  add_grid_option(options, session,
                  "ranks as columns x rows, such as 2x4; auto tries the best few, rule measures nothing, "
                  "official is that of the official program");
  options.add("--px N", "columns of the grid; the rows follow", session.open_grid.columns,
              {.standing = "those of --grid"});
  for (const auto& axis : configuration_axes()) add_axis_option(options, axis.name, session.configuration);
  options.add("--cvl N", "critical vector length of the csr kernels: shorter rows take a scalar loop",
              session.tuning.critical_vector_length, {.standing = "the profile's", .is_from_zero = true});
  options.add("--prefetch N", "how many entries ahead a kernel fetches the matrix",
              session.tuning.prefetch_distance, {.standing = "the profile's", .is_from_zero = true});
  options.add("--block-width N", "columns of a kernel's column blocks: a power of 2",
              session.tuning.block_width, {.standing = "the profile's"});
  add_keep_disturbed_option(options, session.profile);
  add_bind_option(options, session.bind);
  add_session_options(options, session);
}

void add_display_options(OptionSet& options, SessionOptions& session) {
  options.add("--verbose", "print everything that is known about the result", session.detail.is_verbose);
  options.add("--clocks", "phase table in reference clocks, with their spread over the ranks",
              session.detail.shows_clocks);
  add_progress_options(options, session.progress);
}

/// Counters, traces, and the features of feature_table() that such work has, in their groups.
void add_feature_options(OptionSet& options, SessionOptions& session, WorkKind kind) {
  for (const auto& feature : feature_table()) {
    if (feature.only_for && *feature.only_for != kind) continue;
    options.begin_group(std::string(feature.group));
    for (const auto& option : feature.options)
      options.add_texts(
          option.value.empty() ? std::string(option.name) : fmt::format("{} {}", option.name, option.value),
          std::string(option.help), false, {},
          {.standing = std::string(option.default_text), .file = option.file});
  }
  options.begin_group("Counters and traces");
  add_event_options(options, session.counters, session.measures_limits,
                    "PAPI_EVENTS of the environment, or none");
  options.add("--papi-strict", "end with 69 if one of the events cannot be counted", session.counters.strict);
  options.add("--trace FILE",
              "write a time line of every phase to FILE (Chrome-trace JSON); -: to standard output, instead "
              "of the report",
              session.trace.path, {.file = FileUse::writes});
  add_trace_steps_option(options, session.trace.step_count, "--trace");
}

/// Throws InputError for settings of a kernel that are out of range, and for those that a kernel that is named has not.
void check_tuning(const kernels::Tuning& tuning, const Configuration& configuration) {
  if (const auto width = tuning.block_width; width && !kernels::is_block_width(*width))
    throw InputError("--block-width {}: must be a power of two within 64 ... 65536", *width);
  // The critical vector length counts for every kernel: the report says how many rows are shorter.
  const auto* const kernel = kernels::find_kernel(configuration.kernel);
  if (kernel == nullptr) return;
  const auto require_setting = [&](std::string_view option, const auto& asked, const auto& usual) {
    if (asked && !usual)
      throw InputError("{}: --kernel {} has no such setting; leave it out", option, kernel->name);
  };
  require_setting("--prefetch", tuning.prefetch_distance, kernel->defaults.prefetch_distance);
  require_setting("--block-width", tuning.block_width, kernel->defaults.block_width);
}

/// Reads the options of features, and checks what does not depend on the workload. Throws InputError.
void resolve_session(SessionOptions& session, const OptionSet& given) {
  session.transport_is_default = !given.has("--transport");
  check_configuration(session.configuration);
  if (session.open_grid.columns && (session.configuration.has_grid() || session.open_grid.is_official))
    throw InputError("--px and --grid both name a grid: give one of them");
  check_tuning(session.tuning, session.configuration);
  const auto& configuration = session.configuration;
  resolve_profile(session.profile, !configuration.has_transport() || configuration.cut == speed_cut);
  for (const auto& feature : feature_table()) {
    for (const auto& option : feature.options) {
      if (given.has(option.name)) option.read(given.text_of(option.name), session.features);
    }
  }
}

// ---------------------------------------------------------------- run

std::string list_transports() {
  std::string text;
  for (const auto& row : comm::transport_table())
    text += fmt::format("{:<14} {}\n", row.name, row.description);
  return text;
}

std::string list_kernels() {
  std::string text =
      fmt::format("{:<17} {:>13}  {:<10}  {}\n", "kernel", "bytes/nonzero", "set-up", "description");
  for (const auto& row : kernels::kernel_table()) {
    const auto reason = row.why_unavailable();
    text += fmt::format("{:<17} {:>13.4g}  {:<10}  {}{}\n", row.name, row.bytes_per_nonzero,
                        row.converts ? "conversion" : "none", row.description,
                        reason.empty() ? "" : fmt::format(" (not available here: {})", reason));
  }
  return text;
}

/// The options, with those that only the command line has.
struct RunArguments : RunOptions {
  ProblemArguments given_problem;
  bool list_kernels = false;
  bool list_transports = false;
};

void add_problem_group(OptionSet& options, RunArguments& run) {
  options.begin_group("Problem");
  options.add("--class " + one_of(class_letters()),
              "problem class; or all of --n, --nonzer, --shift and --niter", run.given_problem.class_letter);
  add_problem_options(options, run.given_problem);
  options.add("--export-mtx FILE",
              "also write the matrix to FILE (Matrix Market, symmetric); -: to standard output, instead of "
              "the report",
              run.export_mtx, {.file = FileUse::writes});
}

void add_output_group(OptionSet& options, RunArguments& run) {
  options.begin_group("Output");
  add_result_options(options, run.format, run_formats, run.output);
  options.add("--repeat N", "timed repetitions; the median is reported", run.repeat_count,
              {.most = any_count});
  options.add("--min-time TIME",
              "add repetitions until all have taken that long together, such as 10s or 1min",
              run.least_time_s, &seconds_from, {.standing = "0s"});
  options.add("--no-phases", "do not time the phases", run.time_phases);
  add_display_options(options, run);
}

void add_plan_group(OptionSet& options, RunArguments& run) {
  constexpr int most_ranks = 1'000'000;  // more than any machine has; the plan goes through all ranks
  options.begin_group("Plan");
  options.add("--dry-run", "print the plan (blocks, memory, messages) and exit", run.dry_run);
  options.add("--ranks N", "with --dry-run: plan for that many ranks", run.planned_ranks,
              {.standing = "those that run", .most = most_ranks});
  options.add("--list-kernels", "list the kernels and exit", run.list_kernels);
  options.add("--list-transports", "list the transports and exit", run.list_transports);
}

void add_run_options(OptionSet& options, RunArguments& run) {
  add_problem_group(options, run);
  add_grid_options(options, run);
  add_output_group(options, run);
  add_feature_options(options, run, WorkKind::outer_iterations);
  add_plan_group(options, run);
  for (const auto* const list : {"--list-kernels", "--list-transports"}) options.exclude_others(list);
}

void check_plan(const RunOptions& run) {
  if (run.planned_ranks > 0 && !run.dry_run)
    throw InputError("--ranks: goes with --dry-run only; the launcher (mpiexec -n) starts ranks");
  if (run.planned_ranks > 0 && run.memory_limit_bytes > 0)
    throw InputError(
        "--memory-limit: does not go with --ranks, which does not say how many ranks a node gets");
  if (run.dry_run && !std::ranges::count(plan_formats, run.format))
    throw InputError("--format {}: a plan (--dry-run) has no such form; valid: {}", run.format,
                     fmt::join(plan_formats, ", "));
}

/// Options that go with a matrix in memory only.
std::string_view against_streaming(const RunOptions& run) {
  if (run.planned_ranks > 0) return "--ranks: plans a matrix in memory only; start as many ranks";
  return run.export_mtx.empty() ? "" : "--export-mtx: goes with a matrix in memory only";
}

void check_run(RunArguments& run, const OptionSet& given) {
  resolve_session(run, given);
  run.problem = problem_from("run", run.given_problem);
  check_plan(run);
  if (!run.time_phases) {
    given.refuse({"--papi"}, "events are counted per phase; leave --no-phases out");
    given.refuse({"--roofline"}, "it compares the phases with their limits; leave --no-phases out");
    given.refuse({"--trace"}, "a trace consists of the phases; leave --no-phases out");
  }
  resolve_features({.options = run,
                    .repeats = run.repeat_count > 1 || run.least_time_s > 0.0,
                    .against_streaming = against_streaming(run)});
}

Action run_action(RunArguments& run, const OptionSet& given) {
  if (run.list_kernels) return print_text(list_kernels());
  if (run.list_transports) return print_text(list_transports());
  return checked_action<&check_run, &run_benchmark>(run, given);
}

// ---------------------------------------------------------------- solve

void add_system_group(OptionSet& options, SystemOptions& system) {
  options.begin_group("System");
  add_matrix_options(options, system, "assemble the matrix of --operator: of a Laplacian, or of npb:CLASS");
  options.add("--domain PXxPYxPZ", "division of a Laplacian without a matrix: parts along each dimension",
              system.domain_grid, &domain_grid_from, {.standing = "the smallest surface"});
  options.add("--rhs ones|random:SEED|FILE", "right-hand side", system.right_hand_side, &vector_option_from,
              {.standing = system.right_hand_side.text, .file = FileUse::reads});
  options.add("--rhs-count N",
              fmt::format("right-hand sides, solved together: 1 to {}", kernels::vector_counts.back()),
              system.right_hand_side_count,
              {.standing = "the columns of --rhs FILE, else 1", .most = kernels::vector_counts.back()});
  options.add("--x0 zeros|ones|random:SEED|FILE", "initial guess", system.initial_guess, &vector_option_from,
              {.standing = "zeros", .file = FileUse::reads_first});
  options.add("-o,--solution FILE",
              "write x to FILE (Matrix Market, array); -: to standard output, instead of the report",
              system.solution_path, {.file = FileUse::writes_last});
}

void add_method_group(OptionSet& options, SystemOptions& system) {
  options.begin_group("Method");
  options.add("--rtol X", "tolerance of || b - A x ||, relative to || b ||", system.relative_tolerance,
              {.is_from_zero = true});
  options.add("--atol X", "absolute tolerance; the larger one counts", system.absolute_tolerance,
              {.is_from_zero = true});
  options.add("--max-iterations N", "iterations at most", system.most_iterations, {.most = any_count});
  add_form_options(options, system);
  options.add("--monitor", "a line on stderr for each iteration", system.monitors);
}

void add_solve_options(OptionSet& options, SystemOptions& system) {
  add_system_group(options, system);
  add_method_group(options, system);
  add_grid_options(options, system);
  options.begin_group("Output");
  add_result_options(options, system.format, solve_formats, system.output);
  add_display_options(options, system);
  add_feature_options(options, system, WorkKind::solve);
}

/// Refuses settings that the products of an operator without a matrix do not have.
void check_matrix_free(const SystemOptions& system, const OptionSet& given) {
  if (!system.is_matrix_free()) {
    given.refuse({"--domain"}, "only with --operator, and without --assembled");
    return;
  }
  const auto& row = matrix_free_row_of(system.operator_text);
  const auto reason =
      fmt::format("{} without a matrix has no such setting; leave it out, or take --assembled", row.name);
  given.refuse({"--cvl", "--prefetch", "--block-width"}, reason);
  if (!row.uses_grid) given.refuse({"--sum", "--overlap"}, reason);
  if (system.configuration.has_transport())
    given.refuse(
        {"--profile"},
        fmt::format(
            "{} without a matrix takes nothing from it but transports; take --transport auto, or --assembled",
            row.name));
}

/// Options that go with a matrix in memory only.
std::string_view against_streaming(const SystemOptions& system) {
  if (system.symmetrize_tolerance) return "--symmetrize: give it to cg2d convert, which makes the file";
  if (system.mirrors) return "--mirror: give it to cg2d convert, which makes the file";
  return permutation_seed_of(system) ? "--cut random: takes the matrix into memory" : "";
}

void check_solve(SystemOptions& system, const OptionSet& given) {
  if (!has_system(system)) throw InputError("cg2d solve takes a matrix: FILE, or --operator, and not both");
  check_system("solve", system, given);
  resolve_session(system, given);
  check_matrix_free(system, given);
  resolve_features({.options = system, .system = &system, .against_streaming = against_streaming(system)});
}

}  // namespace

SubcommandRows session_subcommands() {
  return {
      {.name = "run",
       .description = "run NAS CG on a grid of ranks, verify it and time its phases",
       .examples = {"mpiexec -n 4 cg2d run --class S",
                    "mpiexec -n 2 cg2d run --class S --grid 1x2 --format json --output result.json"},
       .declare = subcommand_with<add_run_options, run_action>,
       .is_task = true},
      {.name = "solve",
       .description = "solve A x = b for a matrix of your own, by conjugate gradients",
       .examples = {"mpiexec -n 4 cg2d solve --operator laplace3d:20x20x20",
                    "mpiexec -n 2 cg2d solve A.mtx --rhs random:1 --preconditioner jacobi --solution x.mtx"},
       .declare = subcommand_with<add_solve_options, check_solve, solve_system>,
       .is_task = true}};
}

}  // namespace cg2d
