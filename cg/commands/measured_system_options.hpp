#pragma once

// The options of measurements of a user's own system, which cg2d sweep and cg2d scaling have.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/run/solve/solve_options.hpp"

namespace cg2d {

/// The parsed arguments; `options` has those that need no conversion.
struct MeasuredSystemArguments {
  SystemOptions options;
  std::optional<int> iteration_count;
  std::string preconditioner;  ///< empty: not given, as the form of CG
  std::string variant;

  [[nodiscard]] bool has_system() const {
    return !options.matrix_path.empty() || !options.operator_text.empty();
  }
};

/// FILE, --operator, --assembled, --symmetrize, --iterations, --preconditioner and --variant, as a group of the help. `arguments` must
/// outlive the parser.
void add_measured_system_options(CLI::App& parser, MeasuredSystemArguments& arguments);

/// The options of a measurement: measured_system(). Throws InputError.
SystemOptions measured_system_from(const std::string& command, const MeasuredSystemArguments& arguments);

/// Options with whether they were given.
using GivenOptions = std::vector<std::pair<std::string_view, bool>>;
/// Throws InputError for the first that was given: the option, and the reason.
void refuse_given(const GivenOptions& options, const std::string& reason);
/// The same where no system is measured, for the options that only these have, with those of the subcommand itself.
void refuse_system_options(const MeasuredSystemArguments& arguments, const GivenOptions& others);
/// The options of a problem of the benchmark.
struct ProblemArguments;
GivenOptions given_problem_options(bool has_class, const ProblemArguments& problem);

}  // namespace cg2d
