#pragma once

// Meurant's relation between the numbers of a CG step, with the most that rounding explains.

#include "cg/run/guard/checksums.hpp"
#include "cg/solver/step_observer.hpp"

namespace cg2d {

/// Measures of A, or, with M, of M^-1/2 A M^-1/2; at least.
struct MatrixScale {
  double norm = 0.0;         ///< || |A| ||
  double longest_row = 0.0;  ///< entries in any row
  double order = 0.0;        ///< rows
};

/// In exact arithmetic r_new . M^-1 r = 0, so r_new . M^-1 r_new = alpha^2 q . M^-1 q - rho, which is
/// alpha^2 q . M^-1 q / rho = 1 + beta (G. Meurant, The Lanczos and Conjugate Gradient Algorithms, SIAM 2006). Norms of r and q are those
/// of M^-1, norms of p those of M. The derivation of the tolerance is in the README of this room.
///
/// Local, trivially copyable: a copy is the place to go on from. Cost: some scalar operations per step.
class StepRelation {
 public:
  StepRelation() = default;
  explicit StepRelation(const MatrixScale& scale);

  /// product_square: q . M^-1 q of the step.
  [[nodiscard]] CheckedError after_step(const CgState& state, double product_square);
  /// The largest r . M^-1 r so far.
  [[nodiscard]] double largest_rho() const { return largest_rho_; }

 private:
  /// The step before, and bounds that it leaves.
  struct Step {
    double alpha = 0.0;
    double beta_before = 0.0;  // beta of the step's own direction
    double rho = 0.0;
    double next_rho = 0.0;
    double direction_norm = 0.0;
    double product_norm = 0.0;
    double next_direction_norm = 0.0;
    double residual_overlap = 0.0;   // | r_new . r |
    double direction_overlap = 0.0;  // | r . p_before |
  };
  [[nodiscard]] double product_overlap(const Step& step) const;

  double dot_unit_ = 0.0;      // relative error of a dot product
  double product_unit_ = 0.0;  // error of x . A y, relative to ||x|| ||y||
  double largest_rho_ = 0.0;
  bool has_last_ = false;
  int replacement_count_ = 0;
  Step last_;
};

}  // namespace cg2d
