#pragma once

// The options that name a problem by its numbers, for the subcommands that run one.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "cg/matrix/problem.hpp"

namespace cg2d {

/// What the words said; what they did not say comes from the class.
struct ProblemWords {
  std::optional<std::int64_t> n;
  std::optional<int> nonzer;
  std::optional<int> niter;
  std::optional<double> shift;
  std::optional<double> reference_zeta;

  /// Whether anything but a class was given.
  [[nodiscard]] bool has_any() const { return n || nonzer || niter || shift || reference_zeta; }
};

/// --n, --nonzer, --shift, --niter and --reference. `words` must outlive the parser.
void add_problem_options(CLI::App& parser, ProblemWords& words, const std::string& group);

/// The problem of a class and of what stands against it; without a class (empty) the words must say all.
/// Throws InputError, which names the subcommand.
Problem problem_from(const std::string& command, const std::string& class_letter, const ProblemWords& words);

}  // namespace cg2d
