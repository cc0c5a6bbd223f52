#include "cg/commands/problem_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "cg/base/errors.hpp"
#include "cg/commands/option_values.hpp"

namespace cg2d {

void add_problem_options(CLI::App& parser, ProblemWords& words, const std::string& group) {
  const auto add = [&](const std::string& name, auto& value, const std::string& text) {
    return parser.add_option(name, value, text)->group(group);
  };
  add("--n", words.n, "order of the matrix, instead of a class or of the class's")
      ->transform(decimal<std::int64_t>());
  add("--nonzer", words.nonzer, "nonzeros of each random vector")->transform(decimal<int>());
  add("--shift", words.shift, "shift of the diagonal (lambda)")->transform(decimal<double>());
  add("--niter", words.niter, "outer iterations")->transform(decimal<int>());
  add("--reference", words.reference_zeta, "zeta to verify against, instead of the class's")
      ->transform(decimal<double>());
}

Problem problem_from(const std::string& command, const std::string& class_letter, const ProblemWords& words) {
  Problem problem;
  problem.class_name = "U";
  if (!class_letter.empty()) {
    problem = problem_class(class_letter);
  } else {
    std::vector<std::string> missing;
    if (!words.n) missing.emplace_back("--n");
    if (!words.nonzer) missing.emplace_back("--nonzer");
    if (!words.shift) missing.emplace_back("--shift");
    if (!words.niter) missing.emplace_back("--niter");
    if (!missing.empty()) {
      throw InputError(fmt::format("{}: which problem? give --class, or the missing {}", command,
                                   fmt::join(missing, " ")));
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
  if (words.reference_zeta) {
    if (*words.reference_zeta == 0.0) {
      throw InputError("--reference 0: must not be zero, since zeta is compared with it in relative terms");
    }
    problem.reference_zeta = words.reference_zeta;
  }
  check_problem(problem);
  return problem;
}

}  // namespace cg2d
