// The command line of `cg2d solve`.

#include "cg/solve/solve_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>

#include "cg/base/values.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/operators/matrix_free.hpp"
#include "cg/solve/solve_command.hpp"
#include "cg/solve/solve_report.hpp"

namespace cg2d {
namespace {

/// The parsed arguments; `options` has those that need no conversion.
struct SolveArguments {
  SystemOptions options;
  std::string right_hand_side = "ones";
  std::string first_guess = "zeros";
  std::string cut = "nonzeros";
  std::string grid = "auto";
  AxisValues axes;
  std::string bind = "auto";
  std::string domain;
};

void add_system_options(CLI::App& parser, SolveArguments& arguments) {
  auto& options = arguments.options;
  parser.option_defaults()->group("System");
  parser
      .add_option("FILE", options.matrix_path,
                  "matrix: Matrix Market (plain, or compressed by gzip or zstd), or a file of cg2d convert")
      ->check(file_name());
  parser.add_option("--operator", options.operator_text,
                    fmt::format("instead of FILE: {}; applied without a matrix", known_operators()));
  parser.add_flag("--assembled", options.assembles,
                  "assemble the matrix of --operator: of a Laplacian, or of npb:CLASS");
  parser.add_option("--domain", arguments.domain,
                    "cut of a Laplacian without a matrix: parts along each dimension, as PXxPYxPZ");
  parser.add_option("--rhs", arguments.right_hand_side, "right-hand side: ones, random:SEED or a file")
      ->check(file_name());
  add_number_option(parser, "--rhs-count", options.right_hand_side_count,
                    fmt::format("right-hand sides, solved together: 1 to {} (a file's columns)",
                                kernels::vector_counts.back()));
  parser.add_option("--x0", arguments.first_guess, "first guess: zeros, ones, random:SEED or a file")
      ->check(file_name());
  parser.add_option("-o,--solution", options.solution_path, "write x to FILE (Matrix Market, array)")
      ->check(file_name())
      ->type_name("FILE");
  parser.add_option(
      "--cut", arguments.cut,
      "pieces of the matrix: nonzeros (equal numbers of them), even (rows) or random:SEED (rows and "
      "columns in a random order)");
}

void add_method_options(CLI::App& parser, SolveArguments& arguments) {
  auto& options = arguments.options;
  parser.option_defaults()->group("Method");
  add_number_option(parser, "--rtol", options.relative_tolerance,
                    "tolerance of || b - A x ||, relative to || b ||");
  add_number_option(parser, "--atol", options.absolute_tolerance,
                    "absolute tolerance; the larger one counts");
  add_number_option(parser, "--max-iterations", options.most_iterations, "iterations at most");
  parser.add_option("--preconditioner", options.preconditioner,
                    fmt::format("{}", fmt::join(names_of(preconditioner_table()), ", ")));
  parser.add_option("--variant", options.variant,
                    fmt::format("form of CG: {}", fmt::join(names_of(cg_variant_table()), ", ")));
  parser.add_flag("--monitor", options.monitors, "a line on stderr for each iteration");
}

void add_configuration_options(CLI::App& parser, SolveArguments& arguments) {
  auto& options = arguments.options;
  parser.option_defaults()->group("Grid");
  parser.add_option("--grid", arguments.grid,
                    "grid of ranks as PXxPY (columns x rows), auto (tries the best few), or rule");
  add_number_option(parser, "--px", options.open_grid.columns, "columns of the grid; the rows follow");
  add_axis_options(parser, arguments.axes);
  add_number_option(parser, "--cvl", options.tuning.critical_vector_length,
                    "critical vector length of the csr kernels: shorter rows take a scalar loop");
  add_number_option(parser, "--prefetch", options.tuning.prefetch_distance,
                    "how many entries ahead a kernel fetches the matrix");
  add_number_option(parser, "--block-width", options.tuning.block_width,
                    "columns of a kernel's column blocks: a power of 2");
  add_profile_options(parser, options.profile, profile_is_used());
  add_keep_disturbed_option(parser, options.profile);
  add_bind_option(parser, arguments.bind);
  add_memory_limit_option(parser, options.memory_limit_bytes);
}

void add_solve_output_options(CLI::App& parser, SystemOptions& options) {
  parser.option_defaults()->group("Output");
  add_format_option(parser, options.format, names_of(solve_format_table()));
  add_file_option(parser, "--output", options.output, "write the report to FILE, whole or not at all");
  add_host_name_option(parser, options.names_hosts);
  parser.add_flag("--progress", options.progress, "progress on stderr (a terminal gets it anyway)");
}

void add_solve_options(CLI::App& parser, SolveArguments& arguments) {
  add_system_options(parser, arguments);
  add_method_options(parser, arguments);
  add_configuration_options(parser, arguments);
  add_solve_output_options(parser, arguments.options);
  auto& options = arguments.options;
  add_counter_options(parser, {options.counters, options.trace, options.measures_limits});
}

void require_tolerance(const std::string& option, double value) {
  if (!(value >= 0.0)) throw InputError(fmt::format("{} {}: must not be negative", option, value));
}

void require_one_matrix(const SystemOptions& options) {
  if (options.matrix_path.empty() == options.operator_text.empty())
    throw InputError("cg2d solve takes a matrix: FILE, or --operator, and not both");
  if (options.operator_text.empty() && options.assembles)
    throw InputError("--assembled: only with --operator");
  if (options.operator_text.empty()) return;
  const auto& text = options.operator_text;
  try {
    if (options.assembles) {
      static_cast<void>(source_from(text));
    } else {
      static_cast<void>(matrix_free_row_of(text).size_of(text));
    }
  } catch (const InputError& error) {
    throw InputError(fmt::format("--operator {}", error.what()));
  }
}

comm::DomainGrid domain_from(const SystemOptions& options, const std::string& text) {
  if (!options.is_matrix_free()) throw InputError("--domain: only with --operator, and without --assembled");
  return domain_grid_from(text);
}

SystemOptions system_options_from(const SolveArguments& arguments) {
  SystemOptions options = arguments.options;
  require_one_matrix(options);
  if (!arguments.domain.empty()) options.domain_grid = domain_from(options, arguments.domain);
  options.right_hand_side = vector_option_from("--rhs", arguments.right_hand_side);
  options.first_guess = vector_option_from("--x0", arguments.first_guess);
  if (options.right_hand_side_count)
    require_within("--rhs-count", *options.right_hand_side_count, kernels::vector_counts.back());
  require_tolerance("--rtol", options.relative_tolerance);
  require_tolerance("--atol", options.absolute_tolerance);
  set_cut(options, arguments.cut);
  options.configuration = configuration_from(arguments.axes);
  options.open_grid.tries_grids = arguments.grid != "rule";
  if (const auto grid =
          options.open_grid.tries_grids ? grid_from(arguments.grid, ", or auto, or rule") : std::nullopt)
    options.configuration.grid = *grid;
  if (options.configuration.has_grid() && options.open_grid.columns)
    throw InputError("--px and --grid both name a grid: give one of them");
  options.bind = bind_mode_from(arguments.bind);
  require_within("--max-iterations", options.most_iterations, std::numeric_limits<int>::max());
  require_known("--preconditioner", options.preconditioner, names_of(preconditioner_table()));
  require_known("--variant", options.variant, names_of(cg_variant_table()));
  require_known("--format", options.format, names_of(solve_format_table()));
  check_tuning(options.tuning);
  check_profile(options.profile);
  check_counter_options(options.counters, options.trace);
  return options;
}

}  // namespace

SubcommandRow solve_subcommand() {
  return {.name = "solve",
          .description = "solve A x = b for a matrix of your own, by conjugate gradients",
          .declare = subcommand_with<SolveArguments, add_solve_options,
                                     command_action<system_options_from, solve_system, SolveArguments>>};
}

}  // namespace cg2d
