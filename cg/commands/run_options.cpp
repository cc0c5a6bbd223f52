#include "cg/run/session_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cg/commands/session_commands.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/report.hpp"
#include "cg/run/feature.hpp"
#include "comm/communicator.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {
namespace {

template <typename Table>
std::string describe(const Table& table) {
  std::string text;
  for (const auto& row : table) text += fmt::format("{:<14} {}\n", row.name, row.description);
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
  bool no_phases = false;
  bool list_kernels = false;
  bool list_transports = false;
};

void add_problem_group(OptionSet& options, RunArguments& run) {
  options.begin_group("Problem");
  add_class_option(options, run.given_problem.class_letter,
                   "problem class; or all of --n, --nonzer, --shift and --niter");
  add_problem_options(options, run.given_problem);
  options.add({"--export-mtx", "FILE",
               "also write the matrix to FILE (Matrix Market, symmetric); -: to standard output, instead of "
               "the report"},
              run.export_mtx, {.file = FileUse::writes});
}

void add_output_group(OptionSet& options, RunArguments& run) {
  options.begin_group("Output");
  add_result_options(options, run.format, run_formats, run.output);
  options.add({"--repeat", "N", "timed repetitions; the median is reported"}, run.repeat_count,
              {.most = any_count});
  options.add({"--min-time", "TIME",
               "add repetitions until all have taken that long together, such as 10s or 1min", "0s"},
              run.least_time_s, &seconds_from);
  options.add_flag("--no-phases", "do not time the phases", run.no_phases);
  add_display_options(options, run);
}

void add_plan_group(OptionSet& options, RunArguments& run) {
  constexpr int most_ranks = 1'000'000;  // more than any machine has; the plan goes through all ranks
  options.begin_group("Plan");
  options.add_flag("--dry-run", "print the plan (blocks, memory, messages) and exit", run.dry_run);
  options.add({"--ranks", "N", "with --dry-run: plan for that many ranks", "those that run"},
              run.planned_ranks, {.most = most_ranks});
  options.add_flag("--list-kernels", "list the kernels and exit", run.list_kernels);
  options.add_flag("--list-transports", "list the transports and exit", run.list_transports);
  add_memory_group(options, run);
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
  run.time_phases = !run.no_phases;
  run.problem = problem_from("run", run.given_problem);
  check_plan(run);
  if (run.no_phases) {
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
  if (run.list_transports) return print_text(describe(comm::transport_table()));
  return checked_action<&check_run, &run_benchmark>(run, given);
}

}  // namespace

SubcommandRow run_subcommand() {
  return {.name = "run",
          .description = "run NAS CG on a grid of ranks, verify it and time its phases",
          .examples = {"mpiexec -n 4 cg2d run --class S",
                       "mpiexec -n 2 cg2d run --class S --grid 1x2 --format json --output result.json"},
          .declare = subcommand_with<RunArguments, add_run_options, run_action>,
          .is_task = true};
}

}  // namespace cg2d
