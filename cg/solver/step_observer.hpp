#pragma once

// The state of a conjugate gradient solve after each step, observers of it, and the rules that end a solve.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "cg/base/interface.hpp"
#include "cg/solver/solve_end.hpp"

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
  bool indefinite() const { return saw_positive && saw_negative; }
};

/// The numbers of A x = b after `number` steps; the same bits on every rank. r = b - A x by the recurrence,
/// or recomputed.
struct CgState {
  int number = 0;
  double rho = 0.0;        ///< r . M^-1 r
  double curvature = 0.0;  ///< p . A p of the last step, or of the step that begins
  double alpha = 0.0;      ///< the length of the last step along p
  double beta = 0.0;
  double residual_square = 0.0;          ///< r . r
  double first_residual_square = 0.0;    ///< before the first step
  double right_hand_side_square = 0.0;   ///< b . b
  bool right_hand_side_is_zero = false;  ///< every element: its square alone may underflow
  double direction_square = 0.0;         ///< p . M p, which follows from rho and beta
  double largest_quotient = 0.0;         ///< the largest |p . A p| / p . M p so far
  int replacement_count = 0;             ///< recomputed residuals from which the recurrence began again
  bool residual_is_recomputed = false;   ///< r is b - A x itself: no step since
  CurvatureSigns signs;
  /// The rounding errors of `curvature` and `rho` are no larger (rounding_bounds() in cg_recurrence.cpp); known only where a verdict depends on it.
  std::optional<double> curvature_rounding;
  std::optional<double> rho_rounding;
  /// The smallest p . A p / p . M p so far that was in doubt and turned out to be above its rounding bound.
  double cleared_quotient = std::numeric_limits<double>::infinity();
  /// The smallest r . r since the recurrence began, and its step. So many steps without a smaller one are idle: a first number, after which
  /// the stop rule is asked again with that for the order of A.
  double least_residual_square = 0.0;
  int least_residual_step = 0;
  static constexpr double first_idle_steps = 100.0;
  double most_idle_steps = first_idle_steps;
  /// In exact arithmetic CG needs as many steps as A has rows. Of 120 random positive definite systems with condition numbers up to 1e30, those
  /// that converged in the end had at most 24 times as many idle ones in the classic form. (Forms with one sum had up to 240 times as many: the
  /// classic one takes their place sooner, and goes on with far fewer.) An indefinite matrix whose negative eigenvalues are small in
  /// comparison with others may hide them for ever.
  static constexpr double idle_steps_per_row = 40.0;
  static constexpr double idle_steps_per_row_with_one_sum = 10.0;

  double residual_norm() const { return std::sqrt(residual_square); }
  double first_residual_norm() const { return std::sqrt(first_residual_square); }
  double right_hand_side_norm() const { return std::sqrt(right_hand_side_square); }

  /// Notes p . A p of the direction p.
  void record_curvature(double p_a_p) {
    curvature = p_a_p;
    curvature_rounding.reset();
    signs.note(p_a_p);
    if (const double quotient = std::abs(p_a_p) / direction_square; quotient > largest_quotient)
      largest_quotient = quotient;
  }
  /// p . A p, which was in doubt, is above its rounding bound.
  void clear_curvature() { cleared_quotient = curvature / direction_square; }
  /// The length of the step along p. A residual of exactly zero is a solution: further steps change nothing. (Tiny problems get there.)
  void take_alpha() { alpha = rho == 0.0 ? 0.0 : rho / curvature; }
  /// Notes rho / rho_before, which makes the next direction.
  void record_beta(double rho_before) {
    beta = rho_before == 0.0 ? 0.0 : rho / rho_before;
    direction_square = rho + beta * beta * direction_square;
  }
  /// The recurrence begins here, with this r . r.
  void begin_progress() {
    least_residual_square = residual_square;
    least_residual_step = number;
  }
  /// Notes r . r of this step.
  void record_progress() {
    if (residual_square < least_residual_square) begin_progress();
  }
  bool is_idle() const { return number - least_residual_step >= most_idle_steps; }
  /// Numbers of the solve are NaN or infinite.
  bool is_not_finite() const {
    return !std::isfinite(right_hand_side_square) || !std::isfinite(residual_square) || !std::isfinite(rho) ||
           !std::isfinite(curvature);
  }
  /// p . A p is not positive, or so small a part of p . M p that it may be rounding: a system whose condition number exceeds
  /// 1 / eps has such directions, too. The rounding bound decides; it costs products, so quotients near a cleared one pass.
  bool curvature_is_in_doubt() const {
    if (curvature <= 0.0) return true;
    constexpr double cleared_share = 1.0 / 16.0;
    return curvature <= std::numeric_limits<double>::epsilon() * largest_quotient * direction_square &&
           curvature < cleared_share * cleared_quotient * direction_square;
  }
  /// p . A p is zero to rounding: A is singular to double precision, and r has a part in its null space, which no x removes.
  bool direction_is_null() const { return curvature_rounding && std::abs(curvature) <= *curvature_rounding; }
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

/// Tells several observers of every step, in the order in which they were added. Until one is removed it must live.
class StepObservers final : public StepObserver {
 public:
  void add(StepObserver& observer) { observers_.push_back(&observer); }
  void remove(const StepObserver& observer) { std::erase(observers_, &observer); }

  void before_step() override {
    for (auto* observer : observers_) observer->before_step();
  }
  bool after_step(const CgState& state) override {
    bool stop = false;
    for (auto* observer : observers_) stop |= observer->after_step(state);
    return stop;
  }

 private:
  std::vector<StepObserver*> observers_;
};

// ---------------------------------------------------------------- stop rules

/// Asked with the same state on all ranks, so that all ranks end alike.
class StopRule : public Interface {
 public:
  /// The outcome if the solve ends in this state; empty if it continues. Asked before every step. `converged`
  /// by a residual of the recurrence is asked again with the recomputed one, `not_positive_definite` with the rounding
  /// bound of r . M^-1 r, `stagnated` of an idle solve with the number of idle steps that the order of A allows: they hold only then.
  /// `not_finite` becomes `stagnated` where A, b, M and the initial guess are finite.
  virtual std::optional<SolveEnd> end_of(const CgState& state) const = 0;
  /// The end within a step, when p . A p is known and x has not changed yet. `not_positive_definite` is asked
  /// again with the rounding bound of p . A p, and holds only then; `stagnated` begins again with the
  /// recomputed residual.
  virtual std::optional<SolveEnd> end_within_step(const CgState& /*state*/) const { return std::nullopt; }
  /// Whether x of a solve that fails (has_failed()) is to be the best iterate, in place of the last one.
  virtual bool keeps_best() const { return true; }
};

/// A fixed number of steps, whatever the numbers are: the rule of the benchmark.
class FixedSteps final : public StopRule {
 public:
  explicit FixedSteps(int step_count) : step_count_(step_count) {}

  std::optional<SolveEnd> end_of(const CgState& state) const override {
    if (state.number < step_count_) return std::nullopt;
    return SolveEnd::step_limit;
  }
  bool keeps_best() const override { return false; }

 private:
  int step_count_;
};

/// The numbers of Tolerance.
struct ToleranceOptions {
  double relative = 1e-8;  ///< share of || b ||
  double absolute = 0.0;
  int most_steps = 10'000;
};

/// || b - A x || <= max(relative || b ||, absolute), or so many steps; ends also where CG cannot succeed: A
/// or M is not positive definite, which p . A p <= 0 or r . M^-1 r <= 0 shows only beyond its rounding bound, numbers are
/// not finite, or the residual is not made smaller any more.
class Tolerance final : public StopRule {
 public:
  /// The squares of smaller right-hand sides underflow, or those of residuals that are eps times as large.
  static constexpr double least_square =
      std::numeric_limits<double>::min() /
      (std::numeric_limits<double>::epsilon() * std::numeric_limits<double>::epsilon());

  explicit Tolerance(const ToleranceOptions& options) : options_(options) {}

  /// The norm of the residual that ends a solve.
  double residual_norm_for(double right_hand_side_norm) const {
    return std::max(options_.relative * right_hand_side_norm, options_.absolute);
  }

  std::optional<SolveEnd> end_of(const CgState& state) const override {
    if (state.right_hand_side_is_zero) return SolveEnd::zero_right_hand_side;
    if (state.is_not_finite()) return SolveEnd::not_finite;
    const bool underflows = state.right_hand_side_square < least_square;
    if (underflows && !(state.residual_norm() < options_.absolute)) return SolveEnd::not_finite;
    // Residuals of the recurrence become smaller without end, and underflow. Below eps^2 || b || the recomputed one is far above them, whatever
    // the system.
    constexpr double eps = std::numeric_limits<double>::epsilon();
    const bool is_beyond_rounding =
        !state.residual_is_recomputed && state.residual_norm() <= eps * eps * state.right_hand_side_norm();
    if (is_beyond_rounding || state.residual_norm() <= residual_norm_for(state.right_hand_side_norm()))
      return SolveEnd::converged;
    if (state.rho <= 0.0) {
      const bool is_proven = !state.rho_rounding || state.rho < -*state.rho_rounding;
      return is_proven ? SolveEnd::not_positive_definite : SolveEnd::stagnated;
    }
    if (state.is_idle()) return SolveEnd::stagnated;
    if (state.number >= options_.most_steps) return SolveEnd::step_limit;
    return std::nullopt;
  }

  std::optional<SolveEnd> end_within_step(const CgState& state) const override {
    if (!std::isfinite(state.curvature)) return SolveEnd::not_finite;
    if (!state.curvature_is_in_doubt()) return std::nullopt;
    if (!state.curvature_rounding || state.curvature < -*state.curvature_rounding)
      return SolveEnd::not_positive_definite;
    if (state.direction_is_null()) return SolveEnd::stagnated;
    return std::nullopt;
  }

 private:
  ToleranceOptions options_;
};

}  // namespace cg2d
