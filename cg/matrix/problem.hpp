#pragma once

// The problems of NAS CG: the classes of the benchmark, and any other by its numbers.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cg2d {

/// Steps of one conjugate gradient solve; the benchmark fixes them (NAS-95-020).
inline constexpr int cg_steps_per_solve = 25;

/// Products with the matrix in one outer iteration.
inline constexpr int products_per_outer_step = cg_steps_per_solve + 1;

/// One NAS CG problem. Source of the classes: RNR-94-007, NAS-95-020 and the official 3.4 programs.
struct Problem {
  std::string class_name;  ///< one letter, or "U" (unknown to the benchmark) for any other problem
  int64_t n = 0;           ///< order of the matrix
  int nonzer = 0;          ///< nonzeros of each random vector
  int niter = 0;           ///< timed outer iterations
  double shift = 0.0;      ///< lambda
  std::optional<double> reference_zeta{};

  /// Ratio between the smallest and the largest weight of the outer products; also added to the diagonal.
  static constexpr double rcond = 0.1;
  /// Largest |zeta - reference| / |reference| of a verified result.
  static constexpr double tolerance = 1e-10;

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// The classes S, W, A, B, C, D, E, F, in this order.
std::span<const Problem> problem_classes();
/// The class of that letter, in either case; nullptr if there is none.
const Problem* find_class(std::string_view letter);
/// The class of a text "npb:S", or any other name before the colon. Throws InputError that lists the classes.
const Problem& class_from(std::string_view text);

/// The class, or "U(n 1400, nonzer 7, shift 10, niter 15)": different problems have different names.
std::string problem_name(const Problem& problem);

/// Throws InputError when the numbers are out of range (n < 1, nonzer not within 1...n, niter < 1, shift not
/// finite).
void check_problem(const Problem& problem);

/// The official operation count of the timed region, which takes nonzer * (nonzer + 1) for the nonzeros of a
/// row.
double official_flop_count(const Problem& problem);

/// The operations that the program does: products with nonzero_count entries, and the vector operations, in each outer iteration.
double true_flop_count(const Problem& problem, int64_t nonzero_count);

/// Expected nonzeros of the whole matrix, over the random positions; within 0.1 % for every class.
double expected_nonzero_count(const Problem& problem);

/// True when zeta is within the tolerance of the reference; false without a reference.
bool meets_reference(const Problem& problem, double zeta);

}  // namespace cg2d
