#pragma once

// Rules that end a conjugate gradient solve.

#include <algorithm>

#include "cg/solver/solve_end.hpp"
#include "cg/solver/step_observer.hpp"

namespace cg2d {

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
