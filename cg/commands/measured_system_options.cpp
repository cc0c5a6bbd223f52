#include "cg/commands/measured_system_options.hpp"

#include "cg/commands/shared_options.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/operators/matrix_free.hpp"

namespace cg2d {

void add_symmetrize_options(OptionSet& options, std::optional<double>& tolerance, bool& mirrors) {
  options.add({"--symmetrize", "TOL",
               "take the mean of mirrored entries of FILE that differ by at most TOL sqrt(a_ii a_jj)",
               "they must be equal"},
              tolerance, [](const std::string& option, const std::string& text) {
                const auto value = decimal_from<double>(option, text);
                if (!(value > 0.0 && value < 1.0))
                  throw InputError("{} {}: must be greater than 0 and less than 1", option, value);
                return value;
              });
  options.add_flag("--mirror",
                   "FILE has one triangle of a symmetric matrix only, and does not say so: mirror it",
                   mirrors);
}

void add_matrix_options(OptionSet& options, SystemOptions& system, const std::string& help_of_assembled) {
  options.add(
      {"FILE", "", "matrix: Matrix Market (plain, or compressed by gzip or zstd), or a file of cg2d convert"},
      system.matrix_path, {.file = FileUse::reads});
  options.add({"--operator", "NAME:SIZE",
               fmt::format("instead of FILE: {}; applied without a matrix", known_operators())},
              system.operator_text);
  options.add_flag("--assembled", help_of_assembled, system.assembles);
  add_symmetrize_options(options, system.symmetrize_tolerance, system.mirrors);
}

void add_form_options(OptionSet& options, SystemOptions& system) {
  auto values = names_of(preconditioner_table());
  values.emplace_back("chebyshev:DEGREE:LOW:HIGH");
  options.add(
      {"--preconditioner", one_of(values),
       "makes CG take fewer iterations; chebyshev: a polynomial of even DEGREE, 2 to 8, for eigenvalues of "
       "the matrix over its diagonal from LOW to HIGH, which it estimates unless they are given",
       system.preconditioner},
      system.preconditioner, [](const std::string& option, const std::string& text) {
        static_cast<void>(polynomial_from(option, text));
        return text;
      });
  options.add({"--variant", one_of(names_of(cg_variant_table())), "form of CG"}, system.variant);
}

void add_measured_system_options(OptionSet& options, MeasuredSystem& system) {
  options.begin_group("A system of your own, instead of the benchmark");
  add_matrix_options(options, system.options,
                     "also assemble the matrix of --operator, and compare both forms");
  options.add({"--iterations", "N", "iterations of CG in a run"}, system.iteration_count,
              {.most = any_count});
  add_form_options(options, system.options);
}

void check_system(const std::string& command, const SystemOptions& system, const OptionSet& given) {
  const auto& text = system.operator_text;
  if (system.matrix_path.empty()) given.refuse({"--symmetrize", "--mirror"}, "only with FILE");
  if (text.empty()) return given.refuse({"--assembled"}, "only with --operator");
  if (!system.matrix_path.empty())
    throw InputError("cg2d {} takes a matrix: FILE, or --operator, and not both", command);
  const bool compares_forms = system.assembles && command != "solve" && find_matrix_free(text) != nullptr;
  try {
    if (system.assembles) static_cast<void>(source_from(text));
    if (!system.assembles || compares_forms) static_cast<void>(matrix_free_row_of(text).size_of(text));
  } catch (const InputError& error) {
    throw InputError("--operator {}", error.what());
  }
}

SystemOptions measured_system_from(const std::string& command, const MeasuredSystem& system,
                                   const OptionSet& given) {
  check_system(command, system.options, given);
  given.refuse(problem_options, "not with a system of your own, FILE or --operator");
  return measured_system(system.options, system.iteration_count);
}

void refuse_system_options(const OptionSet& given) {
  given.refuse({"--assembled", "--symmetrize", "--mirror", "--iterations", "--preconditioner", "--variant",
                "--domain"},
               "only with a system of your own: FILE or --operator");
}

}  // namespace cg2d
