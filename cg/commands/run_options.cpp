#include "cg/run/run_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>

#include "cg/base/errors.hpp"
#include "cg/base/text_format.hpp"
#include "cg/commands/counter_options.hpp"
#include "cg/commands/option_values.hpp"
#include "cg/commands/problem_options.hpp"
#include "cg/commands/run_command.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/report.hpp"
#include "cg/tuning/run_plan.hpp"
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

/// What the options of `cg2d run` said, as far as it is not in RunOptions as it was said.
struct RunWords {
  std::string class_letter;
  ProblemWords problem;
  RunOptions options;
  std::string grid = "auto";
  std::string sum_form;  // empty: the transport's default
  std::string bind = "auto";
  std::string overlap = "off";
  std::optional<int> planned_ranks;
  bool no_phases = false;
  bool list_kernels = false;
  bool list_transports = false;
};

void add_matrix_options(CLI::App& run, RunWords& words) {
  const std::string group = "Problem";
  run.add_option("--class", words.class_letter, "problem class: S, W, A, B, C, D, E or F")->group(group);
  add_problem_options(run, words.problem, group);
  run.add_option("--export-mtx", words.options.export_mtx,
                 "also write the matrix to FILE (Matrix Market, symmetric)")
      ->check(file_name())
      ->type_name("FILE")
      ->group(group);
}

void add_grid_options(CLI::App& run, RunWords& words) {
  auto& options = words.options;
  auto& tuning = options.kernel.tuning;
  const std::string group = "Grid";
  const auto add = [&](const std::string& name, auto& value, const std::string& text) {
    return run.add_option(name, value, text)->group(group);
  };
  add("--grid", words.grid, "grid of ranks as PXxPY (columns x rows), auto (tries the best few), or rule");
  add("--px", options.grid_columns, "columns of the grid; the rows follow")->transform(decimal<int>());
  add("--sum", words.sum_form,
      "summation over a process row: reduce-scatter or whole-block (as in the paper)");
  add("--transport", options.transport, "way to move data (--list-transports), or auto");
  add_ranks_per_node_option(run, options.ranks_per_node, group);
  add("--overlap", words.overlap, "on: multiply what is here while the rest of the operand is under way");
  add("--kernel", options.kernel.name, "matrix-vector product (--list-kernels), or auto");
  add("--cvl", tuning.critical_vector_length,
      "critical vector length of the csr kernels: shorter rows take a scalar loop")
      ->transform(decimal<int>());
  add("--prefetch", tuning.prefetch_distance, "how many entries ahead a kernel fetches the matrix")
      ->transform(decimal<int>());
  add("--block-width", tuning.block_width, "columns of a kernel's column blocks: a power of 2")
      ->transform(decimal<int>());
  add_profile_options(run, options.profile, profile_is_used(), group);
  add("--threads", options.thread_count, "threads of each rank")->transform(decimal<int>());
  add_bind_option(run, words.bind, group);
}

void add_output_options(CLI::App& run, RunWords& words) {
  auto& options = words.options;
  run.add_option("--format", options.format, "text, json or csv")->group("Output");
  run.add_option("--output", options.output, "write the result to FILE, whole or not at all")
      ->check(file_name())
      ->type_name("FILE")
      ->group("Output");
  run.add_option("--repeat", options.repeat_count, "timed repetitions; the median is reported")
      ->transform(decimal<int>())
      ->group("Output");
  run.add_flag("--no-phases", words.no_phases, "do not time the phases")->group("Output");
  run.add_flag("--progress", options.progress, "progress on stderr (a terminal gets it anyway)")
      ->group("Output");
}

void add_plan_options(CLI::App& run, RunWords& words) {
  auto& options = words.options;
  run.add_flag("--dry-run", options.dry_run, "print the plan (blocks, memory, messages) and exit")
      ->group("Plan");
  run.add_option("--ranks", words.planned_ranks, "with --dry-run: plan for that many ranks")
      ->transform(decimal<int>())
      ->group("Plan");
  add_memory_limit_option(run, options.memory_limit_bytes, "Plan");
  run.add_flag("--list-kernels", words.list_kernels, "list the kernels and exit")->group("Plan");
  run.add_flag("--list-transports", words.list_transports, "list the transports and exit")->group("Plan");
}

void check_choices(const RunOptions& options) {
  require_kernel_name(options.kernel.name);
  require_transport_name(options.transport);
  require_known("--format", options.format, names_of(report_format_table()));
  require_within("--threads", options.thread_count, most_threads);
  require_ranks_per_node(options.ranks_per_node);
  require_not_negative("--cvl", options.kernel.tuning.critical_vector_length);
  require_not_negative("--prefetch", options.kernel.tuning.prefetch_distance);
  if (const auto width = options.kernel.tuning.block_width; width && !kernels::is_block_width(*width)) {
    throw InputError(fmt::format("--block-width {}: must be a power of two within 64 ... 65536", *width));
  }
  require_within("--repeat", options.repeat_count, std::numeric_limits<int>::max());
  if (options.grid && options.grid_columns) {
    throw InputError("--px and --grid both name a grid: give one of them");
  }
  check_profile(options.profile);
  if (options.planned_ranks > 0 && options.memory_limit_bytes > 0) {
    throw InputError("--memory-limit: does not go with --ranks, which says nothing of how many a node gets");
  }
  if (options.dry_run && options.format == "csv") {
    throw InputError("--format csv: a plan (--dry-run) has no such form; valid: text, json");
  }
}

int planned_ranks_from(const RunWords& words) {
  if (!words.planned_ranks) return 0;
  // Beyond the largest machines there are. The plan goes through all ranks.
  constexpr int most_ranks = 1'000'000;
  require_within("--ranks", *words.planned_ranks, most_ranks);
  if (!words.options.dry_run) {
    throw InputError("--ranks: goes with --dry-run only; the launcher (mpiexec -n) starts ranks");
  }
  return *words.planned_ranks;
}

RunOptions options_from(const RunWords& words) {
  RunOptions options = words.options;
  options.bind = bind_wish_from(words.bind);
  options.overlaps = overlap_from(words.overlap);
  options.tries_grids = words.grid != "rule";
  if (options.tries_grids) options.grid = grid_from(words.grid);
  options.time_phases = !words.no_phases;
  options.planned_ranks = planned_ranks_from(words);
  options.problem = problem_from("run", words.class_letter, words.problem);
  check_choices(options);
  std::vector<comm::SumForm> sum_forms;
  if (!words.sum_form.empty()) sum_forms.push_back(sum_form_from(words.sum_form));
  require_sum_form(options.transport, sum_forms);
  options.sum_form = sum_forms_for(options.transport, sum_forms).front();
  check_counter_options(options);
  return options;
}

class RunSubcommand final : public Subcommand {
 public:
  void add_options(CLI::App& parser) override {
    add_matrix_options(parser, words_);
    add_grid_options(parser, words_);
    add_output_options(parser, words_);
    add_counter_options(parser, words_.options);
    add_plan_options(parser, words_);
  }

  [[nodiscard]] Action action() const override {
    if (words_.list_kernels) return print_text(list_kernels());
    if (words_.list_transports) return print_text(describe(comm::transport_table()));
    return [options = options_from(words_)](comm::RankGroup& group) { return run_benchmark(options, group); };
  }

 private:
  RunWords words_;
};

}  // namespace

SubcommandRow run_subcommand() {
  return {.name = "run",
          .description = "run NAS CG on a grid of ranks, verify it and time its phases",
          .make = []() -> std::unique_ptr<Subcommand> { return std::make_unique<RunSubcommand>(); }};
}

}  // namespace cg2d
