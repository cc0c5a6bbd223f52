#pragma once

// The steps of a solve, and the spectrum of the matrix from them: alpha and beta of CG are those of a Lanczos process.

#include "cg/solver/step_observer.hpp"

namespace cg2d {

/// The extreme eigenvalues of M^-1 A as far as the steps have seen them: both are within the spectrum, so the
/// condition number is estimated from below, and the better the more steps there were.
struct SpectrumEstimate {
  double smallest = 0.0;
  double largest = 0.0;
  int step_count = 0;  ///< that the estimate is made from; 0: there is none

  /// 0 where there is no estimate.
  double condition_number() const { return step_count > 0 ? largest / smallest : 0.0; }
  /// Steps after which CG's bound on the error promises `relative`: ln(2 / relative) over ln((s + 1) / (s - 1)),
  /// s the square root of the condition number. Real solves often need fewer.
  double predicted_steps(double relative) const;
};

/// The numbers of a step that follow from nothing else.
struct StepNumbers {
  double alpha = 0.0;
  double beta = 0.0;
  double residual_square = 0.0;
  int replacement_count = 0;
};

/// Collects the numbers of every step: they give all residual norms, and an estimate of the spectrum, since row j of the tridiagonal matrix of
/// Lanczos has 1 / alpha_j + beta_j-1 / alpha_j-1 on the diagonal and sqrt(beta_j-1) / alpha_j-1 before it (Golub and Van Loan, section
/// 10.2). Where the recurrence began again, so does the matrix, as a block of its own.
class StepHistory final : public StepObserver {
 public:
  /// most_steps: room is made for so many at once.
  explicit StepHistory(int most_steps);

  /// A step that is made again takes the place of the first one and of all after it.
  bool after_step(const CgState& state) override;
  /// Goes on after the steps of an earlier solve, which began with this residual.
  void restore(double first_residual_norm, std::vector<StepNumbers> steps);

  const std::vector<StepNumbers>& steps() const { return steps_; }
  /// The residual norms: before the first step, and by the recurrence after each; none without a step.
  std::vector<double> norms() const;
  /// Steps after an exact solution, and those of matrices that are not positive definite, tell nothing. Cost: some hundred passes over the
  /// steps so far.
  SpectrumEstimate estimate() const;

 private:
  double first_norm_ = 0.0;
  std::vector<StepNumbers> steps_;
};

}  // namespace cg2d
