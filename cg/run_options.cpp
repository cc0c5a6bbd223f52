#include "cg/run_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "cg/block_product.hpp"
#include "cg/counter_options.hpp"
#include "cg/errors.hpp"
#include "cg/option_values.hpp"
#include "cg/report.hpp"
#include "cg/run_command.hpp"
#include "cg/run_plan.hpp"
#include "cg/subcommand.hpp"
#include "cg/text_format.hpp"
#include "comm/communicator.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {
namespace {

/// What the problem options said; what they did not say comes from the class.
struct ProblemWords {
  std::string class_letter;
  std::optional<std::int64_t> n;
  std::optional<int> nonzer;
  std::optional<int> niter;
  std::optional<double> shift;
  std::optional<double> reference_zeta;
};

Problem problem_from(const ProblemWords& words) {
  Problem problem;
  problem.class_name = "U";
  if (!words.class_letter.empty()) {
    problem = problem_class(words.class_letter);
  } else {
    std::vector<std::string> missing;
    if (!words.n) missing.emplace_back("--n");
    if (!words.nonzer) missing.emplace_back("--nonzer");
    if (!words.shift) missing.emplace_back("--shift");
    if (!words.niter) missing.emplace_back("--niter");
    if (!missing.empty()) {
      throw InputError(
          fmt::format("run: which problem? give --class, or the missing {}", fmt::join(missing, " ")));
    }
  }
  if (words.n || words.nonzer || words.shift || words.niter) {
    problem.class_name = "U";
    problem.reference_zeta.reset();
  }
  problem.n = words.n.value_or(problem.n);
  problem.nonzer = words.nonzer.value_or(problem.nonzer);
  problem.niter = words.niter.value_or(problem.niter);
  problem.shift = words.shift.value_or(problem.shift);
  if (words.reference_zeta) {
    if (*words.reference_zeta == 0.0) {
      throw InputError("--reference 0: must not be zero, since zeta is compared with it in relative terms");
    }
    problem.reference_zeta = words.reference_zeta;
  }
  check_problem(problem);
  return problem;
}

template <typename Table>
std::string describe(const Table& table) {
  std::string text;
  for (const auto& row : table) text += fmt::format("{:<14} {}\n", row.name, row.description);
  return text;
}

std::string list_kernels() {
  std::string text =
      fmt::format("{:<17} {:>13}  {:<10}  {}\n", "kernel", "bytes/nonzero", "set-up", "description");
  for (const auto& row : all_kernels()) {
    const auto reason = row.why_unavailable();
    text += fmt::format("{:<17} {:>13.4g}  {:<10}  {}{}\n", row.name, row.bytes_per_nonzero,
                        row.converts ? "conversion" : "none", row.description,
                        reason.empty() ? "" : fmt::format(" (not available here: {})", reason));
  }
  return text;
}

/// What the options of `cg2d run` said, as far as it is not in RunOptions as it was said.
struct RunWords {
  ProblemWords problem;
  RunOptions options;
  std::string grid = "auto";
  std::string sum_form = sum_form_name(comm::SumForm::reduce_scatter);
  std::optional<int> planned_ranks;
  bool no_phases = false;
  bool no_profile = false;
  bool list_kernels = false;
  bool list_transports = false;
};

void add_problem_options(CLI::App& run, RunWords& words) {
  auto& problem = words.problem;
  const auto add = [&](const std::string& name, auto& value, const std::string& text) {
    return run.add_option(name, value, text)->group("Problem");
  };
  add("--class", problem.class_letter, "problem class: S, W, A, B, C, D, E or F");
  add("--n", problem.n, "order of the matrix, instead of a class or of the class's")
      ->transform(decimal<std::int64_t>());
  add("--nonzer", problem.nonzer, "nonzeros of each random vector")->transform(decimal<int>());
  add("--shift", problem.shift, "shift of the diagonal (lambda)")->transform(decimal<double>());
  add("--niter", problem.niter, "outer iterations")->transform(decimal<int>());
  add("--reference", problem.reference_zeta, "zeta to verify against, instead of the class's")
      ->transform(decimal<double>());
  add("--export-mtx", words.options.export_mtx, "also write the matrix to FILE (Matrix Market, symmetric)")
      ->check(file_name())
      ->type_name("FILE");
}

void add_grid_options(CLI::App& run, RunWords& words) {
  auto& options = words.options;
  auto& tuning = options.kernel.tuning;
  const auto add = [&](const std::string& name, auto& value, const std::string& text) {
    return run.add_option(name, value, text)->group("Grid");
  };
  add("--grid", words.grid, "grid of ranks as PXxPY (columns x rows), auto (tries the best few), or rule");
  add("--px", options.grid_columns, "columns of the grid; the rows follow")->transform(decimal<int>());
  add("--sum", words.sum_form,
      "summation over a process row: reduce-scatter or whole-block (as in the paper)");
  add("--transport", options.transport, "way to move data (--list-transports)");
  add("--kernel", options.kernel.name, "matrix-vector product (--list-kernels), or auto");
  add("--cvl", tuning.critical_vector_length,
      "critical vector length of the csr kernels: shorter rows take a scalar loop")
      ->transform(decimal<int>());
  add("--prefetch", tuning.prefetch_distance, "how many entries ahead a kernel fetches the matrix")
      ->transform(decimal<int>());
  add("--block-width", tuning.block_width, "columns of a kernel's column blocks: a power of 2")
      ->transform(decimal<int>());
  add("--profile", options.profile.path, "tuning profile to use instead of the default one (cg2d tune)")
      ->check(file_name())
      ->type_name("FILE");
  run.add_flag("--no-profile", words.no_profile, "use no tuning profile")->group("Grid");
  add("--threads", options.thread_count, "threads of each rank")->transform(decimal<int>());
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
  run.add_option("--memory-limit", options.memory_limit_bytes,
                 "memory that a node's ranks may take, such as 8GB or 512MiB")
      ->transform(byte_count())
      ->type_name("SIZE")
      ->group("Plan");
  run.add_flag("--list-kernels", words.list_kernels, "list the kernels and exit")->group("Plan");
  run.add_flag("--list-transports", words.list_transports, "list the transports and exit")->group("Plan");
}

void check_choices(const RunOptions& options) {
  auto kernel_names = names_of(all_kernels());
  kernel_names.emplace_back("auto");
  require_known("--kernel", options.kernel.name, kernel_names);
  require_known("--transport", options.transport, names_of(comm::transport_table()));
  require_known("--format", options.format, names_of(report_format_table()));
  require_within("--threads", options.thread_count, most_threads);
  require_not_negative("--cvl", options.kernel.tuning.critical_vector_length);
  require_not_negative("--prefetch", options.kernel.tuning.prefetch_distance);
  if (const auto width = options.kernel.tuning.block_width; width && !kernels::is_block_width(*width)) {
    throw InputError(fmt::format("--block-width {}: must be a power of two within 64 ... 65536", *width));
  }
  require_within("--repeat", options.repeat_count, std::numeric_limits<int>::max());
  if (options.grid && options.grid_columns) {
    throw InputError("--px and --grid both name a grid: give one of them");
  }
  if (!options.profile.is_used && !options.profile.path.empty()) {
    throw InputError("--no-profile and --profile contradict each other: give one of them");
  }
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
  const std::map<std::string, comm::SumForm> sum_forms{{"reduce-scatter", comm::SumForm::reduce_scatter},
                                                       {"whole-block", comm::SumForm::whole_block}};
  require_known("--sum", words.sum_form, {"reduce-scatter", "whole-block"});
  options.sum_form = sum_forms.at(words.sum_form);
  options.tries_grids = words.grid != "rule";
  if (options.tries_grids) options.grid = grid_from(words.grid);
  options.time_phases = !words.no_phases;
  options.profile.is_used = !words.no_profile;
  options.planned_ranks = planned_ranks_from(words);
  options.problem = problem_from(words.problem);
  check_choices(options);
  check_counter_options(options);
  return options;
}

class RunSubcommand final : public Subcommand {
 public:
  void add_options(CLI::App& parser) override {
    add_problem_options(parser, words_);
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

std::string sum_form_name(comm::SumForm form) {
  return form == comm::SumForm::whole_block ? "whole-block" : "reduce-scatter";
}

comm::ProcessGrid resolve_grid(const RunOptions& options, int rank_count) {
  // A kernel that is still to be chosen follows the grid: until then, one on whole blocks.
  const auto kernel =
      kernel_info(options.kernel.name == "auto" ? kernels::default_kernel().name : options.kernel.name);
  if (options.grid_columns) {
    const int columns = *options.grid_columns;
    if (columns < 1 || rank_count % columns != 0) {
      throw InputError(fmt::format("--px {}: does not divide the {}; valid grids (PXxPY): {}", columns,
                                   format_count(rank_count, "rank"), valid_grids(rank_count)));
    }
    return {.columns = columns, .rows = rank_count / columns};
  }
  if (!options.grid) return choose_grid(options.choices(kernel), rank_count);
  require_grid_of(*options.grid, rank_count);
  return *options.grid;
}

SubcommandRow run_subcommand() {
  return {.name = "run",
          .description = "run NAS CG on a grid of ranks, verify it and time its phases",
          .make = []() -> std::unique_ptr<Subcommand> { return std::make_unique<RunSubcommand>(); }};
}

}  // namespace cg2d
