#include "cg/commands/problem_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "cg/base/errors.hpp"
#include "cg/commands/option_values.hpp"

namespace cg2d {

void add_problem_options(CLI::App& parser, ProblemArguments& arguments, const std::string& group) {
  const auto add = [&](const std::string& name, auto& value, const std::string& text) {
    return parser.add_option(name, value, text)->group(group);
  };
  add("--n", arguments.n, "order of the matrix, instead of a class or of the class's")
      ->transform(decimal<std::int64_t>());
  add("--nonzer", arguments.nonzer, "nonzeros of each random vector")->transform(decimal<int>());
  add("--shift", arguments.shift, "shift of the diagonal (lambda)")->transform(decimal<double>());
  add("--niter", arguments.niter, "outer iterations")->transform(decimal<int>());
  add("--reference", arguments.reference_zeta, "zeta to verify against, instead of the class's")
      ->transform(decimal<double>());
}

Problem problem_from(const std::string& command, const std::string& class_letter,
                     const ProblemArguments& arguments) {
  Problem problem;
  problem.class_name = "U";
  if (!class_letter.empty()) {
    problem = problem_class(class_letter);
  } else {
    std::vector<std::string> missing;
    if (!arguments.n) missing.emplace_back("--n");
    if (!arguments.nonzer) missing.emplace_back("--nonzer");
    if (!arguments.shift) missing.emplace_back("--shift");
    if (!arguments.niter) missing.emplace_back("--niter");
    if (!missing.empty()) {
      throw InputError(fmt::format("{}: which problem? give --class, or the missing {}", command,
                                   fmt::join(missing, " ")));
    }
  }
  if (arguments.n || arguments.nonzer || arguments.shift || arguments.niter) {
    problem.class_name = "U";
    problem.reference_zeta.reset();
  }
  problem.n = arguments.n.value_or(problem.n);
  problem.nonzer = arguments.nonzer.value_or(problem.nonzer);
  problem.niter = arguments.niter.value_or(problem.niter);
  problem.shift = arguments.shift.value_or(problem.shift);
  if (arguments.reference_zeta) {
    if (*arguments.reference_zeta == 0.0)
      throw InputError("--reference 0: must not be zero, since zeta is compared with it in relative terms");
    problem.reference_zeta = arguments.reference_zeta;
  }
  check_problem(problem);
  return problem;
}

}  // namespace cg2d
