#pragma once

// Several steps of CG in the coordinates of a basis: no vector is touched. Pure arithmetic, no MPI. Source: Carson, Communication-avoiding
// Krylov subspace methods in theory and practice, 2015, algorithm 13; that a Gram matrix of Chebyshev polynomials comes from
// moments is our own use of T_i T_j = (T_i+j + T_|i-j|) / 2.

#include <span>
#include <vector>

#include "kernels/power_lines.hpp"

namespace cg2d {

/// The end of the steps.
struct CoordinateSteps {
  int step_count =
      0;  ///< fewer than asked for: r is short enough, or its digits are used up; 0: the direction p leads nowhere
  /// (rᵀr) after each step.
  std::vector<double> square_sums{};
  /// New p, r and x, in polynomials of the old p and r: element j for T_j, 0 ... s.
  std::vector<kernels::PowerWeights> weights{};
};

/// sums[j], j = 0 ... s: those of T_j p and T_j r (PowerFront), over all points. They give <T_i p, T_j p> and so on for all i and j, since A is
/// symmetric and T_i T_j = (T_i+j + T_|i-j|) / 2: 6 s + 3 sums, where products of all pairs would be (2s+1)(s+1). step_count: s at most.
/// wanted_square_sum: r . r at which the steps end. Cost: s (2s+1)².
CoordinateSteps step_in_coordinates(std::span<const kernels::PowerSums> sums, int step_count,
                                    double wanted_square_sum = 0.0);

}  // namespace cg2d
