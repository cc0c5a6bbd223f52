#pragma once

// Solves A x = b to a tolerance, and says how it ended: converged only by the residual that is computed anew.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/distributed_vectors.hpp"

namespace cg2d {

enum class SolutionEnd {
  converged,
  zero_right_hand_side,  ///< x = 0 at once
  iteration_limit,
  stagnated,              ///< the recurrence converged, again and again, but not the residual computed anew
  not_positive_definite,  ///< p . A p <= 0
  not_finite,
};
/// "converged", "iteration-limit": as reports name it.
std::string_view name_of(SolutionEnd end);
ExitCode exit_code_of(SolutionEnd end);

struct SolutionTarget {
  double relative_tolerance = 0.0;
  double absolute_tolerance = 0.0;
  int most_iterations = 0;
};

struct Solution {
  SolutionEnd end = SolutionEnd::iteration_limit;
  int iteration_count = 0;
  int restart_count = 0;  ///< times that the recurrence began anew from the residual of x
  double right_hand_side_norm = 0.0;
  double target_norm = 0.0;  ///< of the residual
  double first_residual_norm = 0.0;
  double recursive_residual_norm = 0.0;  ///< by the recurrence, at the end
  double residual_norm = 0.0;            ///< || b - A x ||
  double curvature = 0.0;                ///< p . A p of the last step
  std::vector<double> history{};  ///< norms by the recurrence after each iteration; the first is before it

  /// One line that says what happened and what would help; empty where it converged.
  [[nodiscard]] std::string reason() const;
};

/// A system that is ready to be solved. Holds references.
struct PreparedSystem {
  LinearOperator& matrix;
  ConjugateGradient& conjugate_gradient;
  DistributedVectors& vectors;
};

/// x := about A^-1 b, from the x that is given. b, x: this rank's pieces. Where the residual computed anew misses
/// the target, CG goes on from there with the equation for the correction; two such restarts without a residual of
/// half the norm are stagnation. Collective; the same result on every rank. Cost: that of CG, one product at the
/// begin unless x is 0, one at each end of CG, and two vectors.
Solution solve_to_target(const PreparedSystem& system, std::span<const double> b, std::span<double> x,
                         const SolutionTarget& target);

}  // namespace cg2d
