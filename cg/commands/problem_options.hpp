#pragma once

// The options that name a problem by its numbers, for the subcommands that run one.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "cg/matrix/problem.hpp"

namespace cg2d {

/// The numbers of a problem as given; the others come from the class.
struct ProblemArguments {
  std::optional<std::int64_t> n;
  std::optional<int> nonzer;
  std::optional<int> niter;
  std::optional<double> shift;
  std::optional<double> reference_zeta;

  /// Whether anything but a class was given.
  [[nodiscard]] bool has_any() const { return n || nonzer || niter || shift || reference_zeta; }
};

/// --n, --nonzer, --shift, --niter and --reference. `arguments` must outlive the parser.
void add_problem_options(CLI::App& parser, ProblemArguments& arguments, const std::string& group);

/// The problem of a class, with the numbers that override it; without a class (empty) all must be given.
/// Throws InputError, which names the subcommand.
Problem problem_from(const std::string& command, const std::string& class_letter,
                     const ProblemArguments& arguments);

}  // namespace cg2d
