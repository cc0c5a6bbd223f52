#pragma once

// Rules that end a conjugate gradient solve.

#include <cmath>
#include <optional>

#include "cg/base/interface.hpp"
#include "cg/solver/step_observer.hpp"

namespace cg2d {

/// The outcome of a solve.
enum class SolveEnd {
  converged,   ///< the residual is as small as it was to be
  step_limit,  ///< all allowed steps are done
  indefinite,  ///< p . A p changed its sign: A is not definite
  not_finite,  ///< numbers became infinite or NaN, or p . A p vanished
  stopped,     ///< an observer asked for it
};

/// Asked before every step, with the same state on all ranks, so that all ranks end alike.
class StopRule : public Interface {
 public:
  /// The outcome if the solve ends in this state; empty if it continues.
  [[nodiscard]] virtual std::optional<SolveEnd> end_of(const CgState& state) const = 0;
};

/// A fixed number of steps, whatever the numbers are: the rule of the benchmark.
class FixedSteps final : public StopRule {
 public:
  explicit FixedSteps(int step_count) : step_count_(step_count) {}

  [[nodiscard]] std::optional<SolveEnd> end_of(const CgState& state) const override {
    if (state.number < step_count_) return std::nullopt;
    return SolveEnd::step_limit;
  }

 private:
  int step_count_;
};

/// || r || <= tolerance || b ||, or so many steps; ends also where CG cannot succeed.
class RelativeResidual final : public StopRule {
 public:
  RelativeResidual(double tolerance, int most_steps) : tolerance_(tolerance), most_steps_(most_steps) {}

  [[nodiscard]] std::optional<SolveEnd> end_of(const CgState& state) const override {
    if (!std::isfinite(state.residual_square) || !std::isfinite(state.rho)) return SolveEnd::not_finite;
    if (state.residual_norm() <= tolerance_ * state.first_residual_norm()) return SolveEnd::converged;
    if (state.signs.indefinite()) return SolveEnd::indefinite;
    if (state.number >= most_steps_) return SolveEnd::step_limit;
    return std::nullopt;
  }

 private:
  double tolerance_;
  int most_steps_;
};

}  // namespace cg2d
