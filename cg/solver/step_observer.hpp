#pragma once

// The state of a conjugate gradient solve after each step, and the interface of observers of it.

#include <cmath>

#include "cg/base/interface.hpp"

namespace cg2d {

/// The signs of p . A p so far. The matrix of NPB is negative definite, so "<= 0" alone tells nothing.
struct CurvatureSigns {
  bool saw_positive = false;
  bool saw_negative = false;

  void note(double curvature) {
    saw_positive |= curvature > 0.0;
    saw_negative |= curvature < 0.0;
  }
  /// Adds the counts of another solve with the same matrix.
  void note(const CurvatureSigns& others) {
    saw_positive |= others.saw_positive;
    saw_negative |= others.saw_negative;
  }
  [[nodiscard]] bool indefinite() const { return saw_positive && saw_negative; }
};

/// The numbers of A x = b after `number` steps; the same bits on every rank. r = b - A x by the recurrence.
struct CgState {
  int number = 0;
  double rho = 0.0;        ///< r . M^-1 r
  double curvature = 0.0;  ///< p . A p of the last step
  double alpha = 0.0;      ///< the length of the last step along p
  double beta = 0.0;
  double residual_square = 0.0;        ///< r . r
  double first_residual_square = 0.0;  ///< before the first step: b . b
  CurvatureSigns signs;

  [[nodiscard]] double residual_norm() const { return std::sqrt(residual_square); }
  [[nodiscard]] double first_residual_norm() const { return std::sqrt(first_residual_square); }
};

/// Told of every step of a solve: progress, guards, checkpoints, traces. The time it takes belongs to no
/// phase.
class StepObserver : public Interface {
 public:
  virtual void before_step() {}
  /// True asks to stop the solve here. All ranks must answer alike, as they do when the answer follows from
  /// the state: nothing is sent to agree on it.
  virtual bool after_step(const CgState& /*state*/) { return false; }
};

}  // namespace cg2d
