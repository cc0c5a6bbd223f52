#include "cg/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "cg/build_info.hpp"
#include "cg/errors.hpp"
#include "cg/report.hpp"
#include "cg/run_plan.hpp"
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

template <typename Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

void require_known(const std::string& option, const std::string& value,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  throw InputError(fmt::format("{} {}: unknown; valid: {}", option, value, fmt::join(known, ", ")));
}

Problem problem_from(const ProblemWords& words) {
  Problem problem;
  problem.class_name = "U";
  if (!words.class_letter.empty()) {
    const auto* known = find_class(words.class_letter);
    if (known == nullptr) {
      throw InputError(fmt::format("--class {}: unknown; valid: S, W, A, B, C, D, E, F", words.class_letter));
    }
    problem = *known;
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
  if (words.reference_zeta) problem.reference_zeta = words.reference_zeta;
  check_problem(problem);
  return problem;
}

std::optional<int> positive_integer(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

/// "2x4" -> 2 columns, 4 rows; "auto" -> nothing.
std::optional<comm::ProcessGrid> grid_from(const std::string& text) {
  if (text == "auto") return std::nullopt;
  const auto cross = text.find('x');
  const auto columns = positive_integer(std::string_view(text).substr(0, cross));
  const auto rows =
      cross == std::string::npos ? std::nullopt : positive_integer(std::string_view(text).substr(cross + 1));
  if (!columns || !rows) {
    throw InputError(
        fmt::format("--grid {}: must be PXxPY (columns x rows of ranks), such as 2x4, or auto", text));
  }
  return comm::ProcessGrid{.columns = *columns, .rows = *rows};
}

template <typename Table>
std::string describe(const Table& table) {
  std::string text;
  for (const auto& row : table) text += fmt::format("{:<14} {}\n", row.name, row.description);
  return text;
}

std::string list_kernels() {
  std::string text;
  for (const auto& row : kernels::kernel_table()) {
    const auto reason = row.why_unavailable();
    text += fmt::format("{:<14} {}{}\n", row.name, row.description,
                        reason.empty() ? "" : fmt::format(" (not available here: {})", reason));
  }
  return text;
}

void require_positive(const std::string& option, int value) {
  if (value < 1) throw InputError(fmt::format("{} {}: must be at least 1", option, value));
}

/// The first line of an error text, since one line is what a user gets.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void check_choices(const RunOptions& options) {
  auto kernel_names = names_of(kernels::kernel_table());
  kernel_names.emplace_back("auto");
  require_known("--kernel", options.kernel, kernel_names);
  require_known("--transport", options.transport, names_of(comm::transport_table()));
  require_known("--format", options.format, names_of(report_format_table()));
  require_positive("--threads", options.thread_count);
  require_positive("--repeat", options.repeat_count);
  if (options.grid && options.grid_columns) {
    throw InputError("--px and --grid both name a grid: give one of them");
  }
  if (options.planned_ranks != 0) {
    require_positive("--ranks", options.planned_ranks);
    if (!options.dry_run)
      throw InputError("--ranks: goes with --dry-run only; the launcher (mpiexec -n) starts ranks");
  }
  if (options.memory_limit_bytes < 0) throw InputError("--memory-limit: must not be negative");
}

}  // namespace

std::string sum_form_name(comm::SumForm form) {
  return form == comm::SumForm::whole_block ? "whole-block" : "reduce-scatter";
}

comm::ProcessGrid resolve_grid(const RunOptions& options, int rank_count) {
  std::vector<std::string> valid;
  for (const auto& grid : comm::factorizations(rank_count)) valid.push_back(grid.name());
  if (options.grid_columns) {
    const int columns = *options.grid_columns;
    if (columns < 1 || rank_count % columns != 0) {
      throw InputError(fmt::format("--px {}: does not divide the {} ranks; valid grids (PXxPY): {}", columns,
                                   rank_count, fmt::join(valid, ", ")));
    }
    return {.columns = columns, .rows = rank_count / columns};
  }
  if (!options.grid) return choose_grid(options.problem, rank_count, options.sum_form);
  if (static_cast<std::int64_t>(options.grid->columns) * options.grid->rows != rank_count) {
    throw InputError(fmt::format("--grid {}: does not match the {} ranks; valid (PXxPY): {}",
                                 options.grid->name(), rank_count, fmt::join(valid, ", ")));
  }
  return *options.grid;
}

Command parse_command_line(int argument_count, const char* const* arguments) {
  CLI::App app("cg2d: the NAS CG benchmark on any Px x Py grid of ranks", "cg2d");
  app.set_version_flag("--version", fmt::format("cg2d {}", build_info::version));
  app.require_subcommand(0, 1);
  auto* run = app.add_subcommand("run", "run NAS CG on a grid of ranks, verify it and time its phases");

  ProblemWords words;
  RunOptions options;
  std::string grid = "auto";
  const std::map<std::string, comm::SumForm> sum_forms{{"reduce-scatter", comm::SumForm::reduce_scatter},
                                                       {"whole-block", comm::SumForm::whole_block}};
  std::string sum_form = "reduce-scatter";
  bool no_phases = false;
  bool show_kernels = false;
  bool show_transports = false;

  run->add_option("--class", words.class_letter, "problem class: S, W, A, B, C, D, E or F")->group("Problem");
  run->add_option("--n", words.n, "order of the matrix, instead of a class or of the class's")
      ->group("Problem");
  run->add_option("--nonzer", words.nonzer, "nonzeros of each random vector")->group("Problem");
  run->add_option("--shift", words.shift, "shift of the diagonal (lambda)")->group("Problem");
  run->add_option("--niter", words.niter, "outer iterations")->group("Problem");
  run->add_option("--reference", words.reference_zeta, "zeta to verify against, instead of the class's")
      ->group("Problem");
  run->add_option("--export-mtx", options.export_mtx,
                  "also write the matrix to FILE (Matrix Market, symmetric)")
      ->type_name("FILE")
      ->group("Problem");

  run->add_option("--grid", grid, "grid of ranks as PXxPY (columns x rows), or auto")->group("Grid");
  run->add_option("--px", options.grid_columns, "columns of the grid; the rows follow")->group("Grid");
  run->add_option("--sum", sum_form,
                  "summation over a process row: reduce-scatter or whole-block (as in the paper)")
      ->group("Grid");
  run->add_option("--transport", options.transport, "way to move data (--list-transports)")->group("Grid");
  run->add_option("--kernel", options.kernel, "matrix-vector product (--list-kernels), or auto")
      ->group("Grid");
  run->add_option("--threads", options.thread_count, "threads of each rank")->group("Grid");

  run->add_option("--format", options.format, "text, json or csv")->group("Output");
  run->add_option("--output", options.output, "write the result to FILE, whole or not at all")
      ->type_name("FILE")
      ->group("Output");
  run->add_option("--repeat", options.repeat_count, "timed repetitions; the median is reported")
      ->group("Output");
  run->add_flag("--no-phases", no_phases, "do not time the phases")->group("Output");
  run->add_flag("--progress", options.progress, "progress on stderr (a terminal gets it anyway)")
      ->group("Output");

  run->add_flag("--dry-run", options.dry_run, "print the plan (blocks, memory, messages) and exit")
      ->group("Plan");
  run->add_option("--ranks", options.planned_ranks, "with --dry-run: plan for that many ranks")
      ->group("Plan");
  run->add_option("--memory-limit", options.memory_limit_bytes,
                  "memory that a node's ranks may take, such as 8GB")
      ->transform(CLI::AsSizeValue(false))
      ->group("Plan");
  run->add_flag("--list-kernels", show_kernels, "list the kernels and exit")->group("Plan");
  run->add_flag("--list-transports", show_transports, "list the transports and exit")->group("Plan");

  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::CallForHelp&) {
    return {.run = {}, .text = run->parsed() ? run->help("cg2d") : app.help()};
  } catch (const CLI::CallForVersion&) {
    return {.run = {}, .text = fmt::format("cg2d {}\n", build_info::version)};
  } catch (const CLI::ParseError& error) {
    throw InputError(fmt::format("{} (see cg2d run --help)", first_line(error.what())));
  }
  if (!run->parsed()) return {.run = {}, .text = app.help()};
  if (show_kernels) return {.run = {}, .text = list_kernels()};
  if (show_transports) return {.run = {}, .text = describe(comm::transport_table())};

  require_known("--sum", sum_form, {"reduce-scatter", "whole-block"});
  options.sum_form = sum_forms.at(sum_form);
  options.grid = grid_from(grid);
  options.time_phases = !no_phases;
  options.problem = problem_from(words);
  check_choices(options);
  return {.run = options, .text = {}};
}

}  // namespace cg2d
