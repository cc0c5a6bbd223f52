#include "cg/commands/measured_system_options.hpp"
#include "cg/commands/help/described_option.hpp"

#include <fmt/format.h>

#include <limits>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/cg_recurrence.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/studies/studied_work.hpp"

namespace cg2d {
namespace {

void require_one_system(const std::string& command, const SystemOptions& options) {
  if (!options.matrix_path.empty() && !options.operator_text.empty())
    throw InputError(fmt::format("cg2d {} takes a matrix: FILE, or --operator, and not both", command));
  if (options.operator_text.empty()) return;
  const auto& text = options.operator_text;
  try {
    if (options.assembles) static_cast<void>(source_from(text));
    if (!options.assembles || find_matrix_free(text) != nullptr)
      static_cast<void>(matrix_free_row_of(text).size_of(text));
  } catch (const InputError& error) {
    throw InputError(fmt::format("--operator {}", error.what()));
  }
}

}  // namespace

void add_measured_system_options(CLI::App& parser, MeasuredSystemArguments& arguments) {
  auto& options = arguments.options;
  parser.option_defaults()->group("A system of your own, instead of the benchmark");
  parser
      .add_option("FILE", options.matrix_path,
                  "matrix: Matrix Market (plain, or compressed by gzip or zstd), or a file of cg2d convert")
      ->check(file_name(FileUse::reads));
  parser
      .add_option("--operator", options.operator_text,
                  fmt::format("instead of FILE: {}; applied without a matrix", known_operators()))
      ->type_name("NAME:SIZE");
  parser.add_flag("--assembled", options.assembles,
                  "also assemble the matrix of --operator, and compare both forms");
  add_symmetrize_option(parser, options.symmetrize_tolerance);
  add_number_option(parser, "--iterations", arguments.iteration_count, "iterations of CG in a run")
      ->default_str(fmt::format("{}", usual_iteration_count));
  parser.add_option("--preconditioner", arguments.preconditioner, "makes CG take fewer iterations")
      ->type_name(type_of_values(names_of(preconditioner_table())))
      ->default_str(options.preconditioner);
  parser.add_option("--variant", arguments.variant, "form of CG")
      ->type_name(type_of_values(names_of(cg_variant_table())))
      ->default_str(options.variant);
}

SystemOptions measured_system_from(const std::string& command, const MeasuredSystemArguments& arguments) {
  auto options = arguments.options;
  require_one_system(command, options);
  if (options.operator_text.empty() && options.assembles)
    throw InputError("--assembled: only with --operator");
  check_symmetrize_option(options.symmetrize_tolerance, !options.matrix_path.empty());
  if (!arguments.preconditioner.empty()) options.preconditioner = arguments.preconditioner;
  if (!arguments.variant.empty()) options.variant = arguments.variant;
  require_known("--preconditioner", options.preconditioner, names_of(preconditioner_table()));
  require_known("--variant", options.variant, names_of(cg_variant_table()));
  const int iteration_count = arguments.iteration_count.value_or(usual_iteration_count);
  require_within("--iterations", iteration_count, std::numeric_limits<int>::max());
  return measured_system(std::move(options), iteration_count);
}

void refuse_given(const GivenOptions& options, const std::string& reason) {
  for (const auto& [option, is_given] : options) {
    if (is_given) throw InputError(fmt::format("{}: {}", option, reason));
  }
}

void refuse_system_options(const MeasuredSystemArguments& arguments, const GivenOptions& others) {
  GivenOptions given{{"--assembled", arguments.options.assembles},
                     {"--symmetrize", arguments.options.symmetrize_tolerance.has_value()},
                     {"--iterations", arguments.iteration_count.has_value()},
                     {"--preconditioner", !arguments.preconditioner.empty()},
                     {"--variant", !arguments.variant.empty()}};
  given.insert(given.end(), others.begin(), others.end());
  refuse_given(given, "only with a system of your own: FILE or --operator");
}

GivenOptions given_problem_options(bool has_class, const ProblemArguments& problem) {
  return {{"--class", has_class},
          {"--n", problem.n.has_value()},
          {"--nonzer", problem.nonzer.has_value()},
          {"--shift", problem.shift.has_value()},
          {"--niter", problem.niter.has_value()},
          {"--reference", problem.reference_zeta.has_value()}};
}

}  // namespace cg2d
