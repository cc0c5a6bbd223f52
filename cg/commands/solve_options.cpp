// The command line of `cg2d solve`.

#include <fmt/format.h>

#include "cg/commands/measured_system_options.hpp"
#include "cg/commands/session_commands.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/report.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/solver/operators/matrix_free.hpp"

namespace cg2d {
namespace {

void add_system_group(OptionSet& options, SystemOptions& system) {
  options.begin_group("System");
  add_matrix_options(options, system, "assemble the matrix of --operator: of a Laplacian, or of npb:CLASS");
  options.add({"--domain", "PXxPYxPZ", "division of a Laplacian without a matrix: parts along each dimension",
               "the smallest surface"},
              system.domain_grid, &domain_grid_from);
  options.add({"--rhs", "ones|random:SEED|FILE", "right-hand side", system.right_hand_side.text},
              system.right_hand_side, &vector_option_from, {.file = FileUse::reads});
  options.add({"--rhs-count", "N",
               fmt::format("right-hand sides, solved together: 1 to {}", kernels::vector_counts.back()),
               "the columns of --rhs FILE, else 1"},
              system.right_hand_side_count, {.most = kernels::vector_counts.back()});
  options.add({"--x0", "zeros|ones|random:SEED|FILE", "initial guess", "zeros"}, system.initial_guess,
              &vector_option_from, {.file = FileUse::reads_first});
  options.add({"-o,--solution", "FILE",
               "write x to FILE (Matrix Market, array); -: to standard output, instead of the report"},
              system.solution_path, {.file = FileUse::writes_last});
}

double tolerance_from(const std::string& option, const std::string& text) {
  const auto value = decimal_from<double>(option, text);
  if (!(value >= 0.0)) throw InputError("{} {}: must not be negative", option, value);
  return value;
}

void add_method_group(OptionSet& options, SystemOptions& system) {
  options.begin_group("Method");
  options.add({"--rtol", "X", "tolerance of || b - A x ||, relative to || b ||",
               fmt::format("{}", system.relative_tolerance)},
              system.relative_tolerance, &tolerance_from);
  options.add({"--atol", "X", "absolute tolerance; the larger one counts",
               fmt::format("{}", system.absolute_tolerance)},
              system.absolute_tolerance, &tolerance_from);
  options.add({"--max-iterations", "N", "iterations at most"}, system.most_iterations, {.most = any_count});
  add_form_options(options, system);
  options.add_flag("--monitor", "a line on stderr for each iteration", system.monitors);
}

void add_solve_options(OptionSet& options, SystemOptions& system) {
  add_system_group(options, system);
  add_method_group(options, system);
  add_grid_options(options, system);
  add_memory_group(options, system);
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
  resolve_features({.options = system,
                    .kind = WorkKind::solve,
                    .has_matrix = !system.is_matrix_free(),
                    .against_streaming = against_streaming(system),
                    .variant = system.variant,
                    .preconditioner = system.preconditioner});
}

}  // namespace

SubcommandRow solve_subcommand() {
  return {
      .name = "solve",
      .description = "solve A x = b for a matrix of your own, by conjugate gradients",
      .examples = {"mpiexec -n 4 cg2d solve --operator laplace3d:20x20x20",
                   "mpiexec -n 2 cg2d solve A.mtx --rhs random:1 --preconditioner jacobi --solution x.mtx"},
      .declare = subcommand_with<SystemOptions, add_solve_options, check_solve, solve_system>,
      .is_task = true};
}

}  // namespace cg2d
