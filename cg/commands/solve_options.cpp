// The command line of `cg2d solve`.

#include "cg/run/solve/solve_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "cg/base/values.hpp"
#include "cg/commands/help/described_option.hpp"
#include "cg/commands/measured_system_options.hpp"
#include "cg/commands/session_options.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/solve_command.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/report/solve/solve_format.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/streaming/out_of_core_options.hpp"
#include "cg/solver/operators/matrix_free.hpp"

namespace cg2d {
namespace {

/// The parsed arguments; `options` has those that need no conversion.
struct SolveArguments {
  SystemOptions options;
  std::string right_hand_side = "ones";
  std::string first_guess = "zeros";
  std::string cut = "nonzeros";
  std::string domain;
  SessionArguments session;
};

void add_system_options(CLI::App& parser, SolveArguments& arguments) {
  auto& options = arguments.options;
  parser.option_defaults()->group("System");
  parser
      .add_option("FILE", options.matrix_path,
                  "matrix: Matrix Market (plain, or compressed by gzip or zstd), or a file of cg2d convert")
      ->check(file_name(FileUse::reads));
  parser
      .add_option("--operator", options.operator_text,
                  fmt::format("instead of FILE: {}; applied without a matrix", known_operators()))
      ->type_name("NAME:SIZE");
  parser.add_flag("--assembled", options.assembles,
                  "assemble the matrix of --operator: of a Laplacian, or of npb:CLASS");
  add_symmetrize_option(parser, options.symmetrize_tolerance);
  parser
      .add_option("--domain", arguments.domain,
                  "cut of a Laplacian without a matrix: parts along each dimension")
      ->type_name("PXxPYxPZ")
      ->default_str("the smallest surface");
  parser.add_option("--rhs", arguments.right_hand_side, "right-hand side")
      ->check(file_name(FileUse::reads))
      ->type_name(type_of_values({"ones", "random:SEED", "FILE"}));
  add_number_option(parser, "--rhs-count", options.right_hand_side_count,
                    fmt::format("right-hand sides, solved together: 1 to {}", kernels::vector_counts.back()))
      ->default_str("the columns of --rhs FILE, else 1");
  parser.add_option("--x0", arguments.first_guess, "first guess")
      ->check(file_name(FileUse::reads_first))
      ->type_name(type_of_values({"zeros", "ones", "random:SEED", "FILE"}));
  parser
      .add_option("-o,--solution", options.solution_path,
                  "write x to FILE (Matrix Market, array); -: to standard output, instead of the report")
      ->check(file_name(FileUse::writes_last))
      ->type_name("FILE");
  parser
      .add_option(
          "--cut", arguments.cut,
          "pieces of the matrix: equal numbers of nonzeros, of rows (even), or of rows and columns in a "
          "random order")
      ->type_name(type_of_values({"nonzeros", "even", "random:SEED"}));
}

void add_method_options(CLI::App& parser, SolveArguments& arguments) {
  auto& options = arguments.options;
  parser.option_defaults()->group("Method");
  add_number_option(parser, "--rtol", options.relative_tolerance,
                    "tolerance of || b - A x ||, relative to || b ||");
  add_number_option(parser, "--atol", options.absolute_tolerance,
                    "absolute tolerance; the larger one counts");
  add_number_option(parser, "--max-iterations", options.most_iterations, "iterations at most");
  parser.add_option("--preconditioner", options.preconditioner, "makes CG take fewer iterations")
      ->type_name(type_of_values(names_of(preconditioner_table())));
  parser.add_option("--variant", options.variant, "form of CG")
      ->type_name(type_of_values(names_of(cg_variant_table())));
  parser.add_flag("--monitor", options.monitors, "a line on stderr for each iteration");
}

void add_solve_output_options(CLI::App& parser, SolveArguments& arguments) {
  auto& options = arguments.options;
  parser.option_defaults()->group("Output");
  add_format_option(parser, options.format, names_of(solve_format_table()));
  add_file_option(parser, "--output", FileUse::writes, options.output,
                  "write the report to FILE, whole or not at all")
      ->default_str("standard output");
  add_display_options(parser, options);
}

void add_solve_options(CLI::App& parser, SolveArguments& arguments) {
  add_system_options(parser, arguments);
  add_method_options(parser, arguments);
  auto& options = arguments.options;
  add_grid_options(parser, arguments.session, options);
  parser.option_defaults()->group("Memory");
  add_memory_limit_option(parser, options.memory_limit_bytes);
  add_solve_output_options(parser, arguments);
  add_feature_options(parser, arguments.session, options);
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

/// Refuses settings that the products of an operator without a matrix do not have.
void check_matrix_free_settings(const SystemOptions& options, const AxisValues& axes) {
  if (!options.is_matrix_free()) return;
  const auto& row = matrix_free_row_of(options.operator_text);
  const auto& tuning = options.tuning;
  GivenOptions given{{"--cvl", tuning.critical_vector_length.has_value()},
                     {"--prefetch", tuning.prefetch_distance.has_value()},
                     {"--block-width", tuning.block_width.has_value()}};
  if (!row.uses_grid) {
    given.insert(given.end(),
                 {{"--sum", has_values(axes, "sum_form")}, {"--overlap", has_values(axes, "overlap")}});
  }
  refuse_given(
      given,
      fmt::format("{} without a matrix has no such setting; leave it out, or take --assembled", row.name));
  refuse_given({{"--profile", !options.profile.path.empty() && options.configuration.has_transport()}},
               fmt::format("{} without a matrix takes nothing from it but transports; take --transport auto, "
                           "or --assembled",
                           row.name));
}

/// Options that go with a matrix in memory only.
void check_streaming(const SystemOptions& options) {
  if (!options.features.of<OutOfCoreOptions>().is_used()) return;
  refuse_out_of_core_if(options.symmetrize_tolerance.has_value(),
                        "--symmetrize: give it to cg2d convert, which makes the file");
  refuse_out_of_core_if(options.cut == MatrixCut::random, "--cut random: takes the matrix into memory");
}

SystemOptions system_options_from(const SolveArguments& arguments) {
  SystemOptions options = arguments.options;
  require_one_matrix(options);
  check_symmetrize_option(options.symmetrize_tolerance, !options.matrix_path.empty());
  if (!arguments.domain.empty()) options.domain_grid = domain_from(options, arguments.domain);
  options.right_hand_side = vector_option_from("--rhs", arguments.right_hand_side);
  options.first_guess = vector_option_from("--x0", arguments.first_guess);
  if (options.right_hand_side_count)
    require_within("--rhs-count", *options.right_hand_side_count, kernels::vector_counts.back());
  require_tolerance("--rtol", options.relative_tolerance);
  require_tolerance("--atol", options.absolute_tolerance);
  set_cut(options, arguments.cut);
  settle_session(arguments.session, options);
  require_within("--max-iterations", options.most_iterations, std::numeric_limits<int>::max());
  require_known("--preconditioner", options.preconditioner, names_of(preconditioner_table()));
  require_known("--variant", options.variant, names_of(cg_variant_table()));
  require_known("--format", options.format, names_of(solve_format_table()));
  check_matrix_free_settings(options, arguments.session.axes);
  check_streaming(options);
  settle_features({.options = options,
                   .kind = WorkKind::solve,
                   .has_matrix = !options.is_matrix_free(),
                   .variant = options.variant,
                   .preconditioner = options.preconditioner});
  return options;
}

}  // namespace

SubcommandRow solve_subcommand() {
  return {
      .name = "solve",
      .description = "solve A x = b for a matrix of your own, by conjugate gradients",
      .examples = {"mpiexec -n 4 cg2d solve --operator laplace3d:20x20x20",
                   "mpiexec -n 2 cg2d solve A.mtx --rhs random:1 --preconditioner jacobi --solution x.mtx"},
      .declare = subcommand_with<SolveArguments, add_solve_options,
                                 command_action<system_options_from, solve_system, SolveArguments>>};
}

}  // namespace cg2d
