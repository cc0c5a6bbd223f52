#pragma once

// The spectrum of the matrix from the numbers of CG: its alpha and beta are those of a Lanczos process.

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

/// Collects alpha and beta of every step: row j of the tridiagonal matrix of Lanczos has 1 / alpha_j + beta_j-1 /
/// alpha_j-1 on the diagonal and sqrt(beta_j-1) / alpha_j-1 before it (Golub and Van Loan, section 10.2). Where
/// the recurrence began again, so does the matrix, as a block of its own.
class LanczosEstimates final : public StepObserver {
 public:
  /// most_steps: room is made for so many at once.
  explicit LanczosEstimates(int most_steps);

  /// A step that is made again takes the place of the first one and of all after it.
  bool after_step(const CgState& state) override;
  /// Cost: some hundred passes over the steps so far.
  SpectrumEstimate estimate() const;

  /// The numbers of a step.
  struct Row {
    double alpha;
    double beta;
    int replacement_count;
    int step_count;
  };

 private:
  std::vector<Row> rows_;
};

/// The residual norms of a solve: before the first step, and by the recurrence after each.
class ResidualHistory final : public StepObserver {
 public:
  explicit ResidualHistory(int most_steps);

  /// As LanczosEstimates::after_step().
  bool after_step(const CgState& state) override;
  const std::vector<double>& norms() const { return norms_; }

 private:
  std::vector<double> norms_;
};

}  // namespace cg2d
