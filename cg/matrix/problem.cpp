#include "cg/matrix/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

std::span<const Problem> problem_classes() {
  static const std::array<Problem, 8> classes{{
      {"S", 1'400, 7, 15, 10.0, 8.5971775078648},
      {"W", 7'000, 8, 15, 12.0, 10.362595087124},
      {"A", 14'000, 11, 15, 20.0, 17.130235054029},
      {"B", 75'000, 13, 75, 60.0, 22.712745482631},
      {"C", 150'000, 15, 75, 110.0, 28.973605592845},
      {"D", 1'500'000, 21, 100, 500.0, 52.514532105794},
      {"E", 9'000'000, 26, 100, 1'500.0, 77.522164599383},
      {"F", 54'000'000, 31, 100, 5'000.0, 107.3070826433},
  }};
  return classes;
}

const Problem* find_class(std::string_view letter) {
  if (letter.size() != 1) return nullptr;
  const auto upper = upper_letter(letter[0]);
  const auto classes = problem_classes();
  const auto found = std::ranges::find(classes, upper, [](const auto& c) { return c.class_name[0]; });
  return found == classes.end() ? nullptr : &*found;
}

const Problem& class_from(std::string_view text) {
  const auto colon = text.find(':');
  const auto letter = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (const auto* const found = find_class(letter)) return *found;
  std::string known;
  for (const auto& problem : problem_classes()) known += (known.empty() ? "" : ", ") + problem.class_name;
  throw InputError("{}: after the colon expected a class out of {}, got '{}'", text, known, letter);
}

std::string problem_name(const Problem& problem) {
  if (find_class(problem.class_name) != nullptr) return problem.class_name;
  return fmt::format("{}(n {}, nonzer {}, shift {}, niter {})", problem.class_name, problem.n, problem.nonzer,
                     problem.shift, problem.niter);
}

void check_problem(const Problem& problem) {
  constexpr int64_t largest_n = std::numeric_limits<int32_t>::max();
  if (problem.n < 1 || problem.n > largest_n)
    throw InputError("--n {}: the order of the matrix must be within 1 ... {}", problem.n, largest_n);
  if (problem.nonzer < 1 || problem.nonzer > problem.n) {
    throw InputError("--nonzer {}: nonzeros of a random vector must be within 1 ... {} (the order n)",
                     problem.nonzer, problem.n);
  }
  if (problem.niter < 1)
    throw InputError("--niter {}: there must be at least 1 outer iteration", problem.niter);
  if (!std::isfinite(problem.shift)) throw InputError("--shift {}: must be a finite number", problem.shift);
}

double official_flop_count(const Problem& problem) {
  const double row = static_cast<double>(problem.nonzer) * (problem.nonzer + 1.0);
  return 2.0 * problem.niter * static_cast<double>(problem.n) *
         (3.0 + 3.0 + products_per_outer_step * row + cg_steps_per_solve * 5.0);
}

double true_flop_count(const Problem& problem, int64_t nonzero_count) {
  // Terms as in the official count: 5 vector operations of 2 n per step, 6 per outer iteration.
  const auto n = static_cast<double>(problem.n);
  const auto nonzeros = static_cast<double>(nonzero_count);
  return 2.0 * problem.niter * (products_per_outer_step * nonzeros + n * (cg_steps_per_solve * 5.0 + 6.0));
}

double expected_nonzero_count(const Problem& problem) {
  // Each vector has nonzer random positions and i: nonzer * (nonzer + 1) ordered pairs off the diagonal,
  // spread over n * (n - 1) entries, so an entry is hit by a Poisson number of them.
  const auto n = static_cast<double>(problem.n);
  if (problem.n == 1) return 1.0;
  const double pairs_per_row = static_cast<double>(problem.nonzer) * (problem.nonzer + 1.0);
  return n + n * (n - 1.0) * -std::expm1(-pairs_per_row / (n - 1.0));
}

bool meets_reference(const Problem& problem, double zeta) {
  if (!problem.reference_zeta) return false;
  // Written as the condition that holds, so that NaN fails it.
  return std::abs(zeta - *problem.reference_zeta) <= Problem::tolerance * std::abs(*problem.reference_zeta);
}

}  // namespace cg2d
