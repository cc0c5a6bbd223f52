#include "cg/run/run_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/commands/help/described_option.hpp"
#include "cg/commands/run_command.hpp"
#include "cg/commands/session_options.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/report.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/streaming/out_of_core_options.hpp"
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

/// The parsed arguments of `cg2d run`; `options` has those that need no conversion.
struct RunArguments {
  std::string class_letter;
  ProblemArguments problem;
  RunOptions options;
  SessionArguments session;
  std::string least_time = "0s";
  std::optional<int> planned_ranks;
  bool no_phases = false;
  bool list_kernels = false;
  bool list_transports = false;
};

void add_matrix_options(CLI::App& run, RunArguments& arguments) {
  run.option_defaults()->group("Problem");
  run.add_option("--class", arguments.class_letter,
                 "problem class; or all of --n, --nonzer, --shift and --niter")
      ->type_name(type_of_values(class_letters()));
  add_problem_options(run, arguments.problem);
  add_file_option(run, "--export-mtx", FileUse::writes, arguments.options.export_mtx,
                  "also write the matrix to FILE (Matrix Market, symmetric); -: to standard output, instead "
                  "of the report");
}

void add_output_options(CLI::App& run, RunArguments& arguments) {
  auto& options = arguments.options;
  run.option_defaults()->group("Output");
  add_format_option(run, options.format, names_of(report_format_table()));
  add_file_option(run, "--output", FileUse::writes, options.output,
                  "write the result to FILE, whole or not at all")
      ->default_str("standard output");
  add_file_option(run, "--report", FileUse::writes, options.report,
                  "also write all figures to FILE, a line for each: section::name=value; -: to standard "
                  "output, instead of the report")
      ->default_str("none");
  add_number_option(run, "--repeat", options.repeat_count, "timed repetitions; the median is reported");
  run.add_option("--min-time", arguments.least_time,
                 "add repetitions until all have taken that long together, such as 10s or 1min")
      ->type_name("TIME");
  run.add_flag("--no-phases", arguments.no_phases, "do not time the phases");
  add_display_options(run, options);
}

void add_plan_options(CLI::App& run, RunArguments& arguments) {
  auto& options = arguments.options;
  run.option_defaults()->group("Plan");
  run.add_flag("--dry-run", options.dry_run, "print the plan (blocks, memory, messages) and exit");
  add_number_option(run, "--ranks", arguments.planned_ranks, "with --dry-run: plan for that many ranks")
      ->default_str("those that run");
  run.add_flag("--list-kernels", arguments.list_kernels, "list the kernels and exit");
  run.add_flag("--list-transports", arguments.list_transports, "list the transports and exit");
  run.option_defaults()->group("Memory");
  add_memory_limit_option(run, options.memory_limit_bytes);
}

void check_options(const RunOptions& options) {
  require_known("--format", options.format, names_of(report_format_table()));
  require_within("--repeat", options.repeat_count, std::numeric_limits<int>::max());
  if (options.planned_ranks > 0 && options.memory_limit_bytes > 0) {
    throw InputError(
        "--memory-limit: does not go with --ranks, which does not say how many ranks a node gets");
  }
  if (const auto known = plan_format_names(); options.dry_run && !std::ranges::count(known, options.format)) {
    throw InputError(fmt::format("--format {}: a plan (--dry-run) has no such form; valid: {}",
                                 options.format, fmt::join(known, ", ")));
  }
}

void check_phase_options(const RunOptions& options) {
  if (!options.counters.events.empty() && !options.time_phases)
    throw InputError("--papi: events are counted per phase; leave --no-phases out");
  if (options.measures_limits && !options.time_phases)
    throw InputError("--roofline: it compares the phases with their limits; leave --no-phases out");
  if (!options.trace.path.empty() && !options.time_phases)
    throw InputError("--trace: a trace consists of the phases; leave --no-phases out");
}

/// Options that go with a matrix in memory only.
void check_streaming(const RunOptions& options) {
  if (!options.features.of<OutOfCoreOptions>().is_used()) return;
  refuse_out_of_core_if(options.planned_ranks > 0,
                        "--ranks: plans a matrix in memory only; start as many ranks");
  refuse_out_of_core_if(!options.export_mtx.empty(), "--export-mtx: goes with a matrix in memory only");
}

int planned_ranks_from(const RunArguments& arguments) {
  if (!arguments.planned_ranks) return 0;
  // More than any machine has. The plan goes through all ranks.
  constexpr int most_ranks = 1'000'000;
  require_within("--ranks", *arguments.planned_ranks, most_ranks);
  if (!arguments.options.dry_run)
    throw InputError("--ranks: goes with --dry-run only; the launcher (mpiexec -n) starts ranks");
  return *arguments.planned_ranks;
}

RunOptions options_from(const RunArguments& arguments) {
  RunOptions options = arguments.options;
  settle_session(arguments.session, options);
  options.time_phases = !arguments.no_phases;
  options.least_time_s = seconds_from("--min-time", arguments.least_time);
  options.planned_ranks = planned_ranks_from(arguments);
  options.problem = problem_from("run", arguments.class_letter, arguments.problem);
  check_options(options);
  check_phase_options(options);
  check_streaming(options);
  settle_features({.options = options,
                   .repeats = options.repeat_count > 1 || options.least_time_s > 0.0,
                   .can_be_guarded = iteration_of(options.problem).can_be_guarded});
  return options;
}

void add_run_options(CLI::App& run, RunArguments& arguments) {
  add_matrix_options(run, arguments);
  add_grid_options(run, arguments.session, arguments.options);
  add_output_options(run, arguments);
  add_feature_options(run, arguments.session, arguments.options);
  add_plan_options(run, arguments);
  for (const auto* const list : {"--list-kernels", "--list-transports"}) exclude_others(run, list);
}

Action run_action(const RunArguments& arguments) {
  if (arguments.list_kernels) return print_text(list_kernels());
  if (arguments.list_transports) return print_text(describe(comm::transport_table()));
  return command_action<options_from, run_benchmark>(arguments);
}

}  // namespace

SubcommandRow run_subcommand() {
  return {.name = "run",
          .description = "run NAS CG on a grid of ranks, verify it and time its phases",
          .examples = {"mpiexec -n 4 cg2d run --class S",
                       "mpiexec -n 2 cg2d run --class S --grid 1x2 --format json --output result.json"},
          .declare = subcommand_with<RunArguments, add_run_options, run_action>};
}

}  // namespace cg2d
