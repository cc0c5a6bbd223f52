#include "cg/solve/solution_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

struct EndRow {
  SolutionEnd end;
  std::string_view name;
  ExitCode code;
};
constexpr std::array<EndRow, 6> end_rows{
    {{SolutionEnd::converged, "converged", ExitCode::success},
     {SolutionEnd::zero_right_hand_side, "zero-right-hand-side", ExitCode::success},
     {SolutionEnd::iteration_limit, "iteration-limit", ExitCode::not_converged},
     {SolutionEnd::stagnated, "stagnated", ExitCode::not_converged},
     {SolutionEnd::not_positive_definite, "not-positive-definite", ExitCode::not_positive_definite},
     {SolutionEnd::not_finite, "not-finite", ExitCode::not_finite}}};

const EndRow& row_of(SolutionEnd end) { return *std::ranges::find(end_rows, end, &EndRow::end); }

/// || r || <= target, or p . A p <= 0, or so many steps.
class NormTarget final : public StopRule {
 public:
  NormTarget(double target, int most_steps) : target_(target), most_steps_(most_steps) {}

  [[nodiscard]] std::optional<SolveEnd> end_of(const CgState& state) const override {
    // First, since a step along a direction without curvature is infinite, and one of negative curvature leads
    // nowhere, whatever the residual is after it.
    if (state.number > 0 && state.curvature <= 0.0) return SolveEnd::indefinite;
    if (!std::isfinite(state.residual_square) || !std::isfinite(state.rho) || !std::isfinite(state.curvature))
      return SolveEnd::not_finite;
    if (state.residual_norm() <= target_) return SolveEnd::converged;
    if (state.number >= most_steps_) return SolveEnd::step_limit;
    return std::nullopt;
  }

 private:
  double target_;
  int most_steps_;
};

/// Keeps the norms of the residual.
class History final : public StepObserver {
 public:
  explicit History(std::vector<double>& norms) : norms_(norms) {}
  bool after_step(const CgState& state) override {
    norms_.push_back(state.residual_norm());
    return false;
  }

 private:
  std::vector<double>& norms_;
};

class Loop {
 public:
  Loop(const PreparedSystem& system, std::span<const double> b, std::span<double> x,
       const SolutionTarget& target)
      : system_(system), b_(b), x_(x), target_(target), residual_(b.size()), correction_(b.size()) {}

  Solution run() {
    solution_.right_hand_side_norm = std::sqrt(system_.vectors.dot(b_, b_));
    const double b_norm = solution_.right_hand_side_norm;
    solution_.target_norm = std::max(target_.relative_tolerance * b_norm, target_.absolute_tolerance);
    if (!std::isfinite(b_norm)) return ended(SolutionEnd::not_finite);
    if (b_norm == 0.0) {
      system_.vectors.update([&](VectorOps& local) { local.fill(0.0, x_); });
      return ended(SolutionEnd::zero_right_hand_side);
    }
    compute_residual();
    solution_.first_residual_norm = solution_.residual_norm;
    solution_.recursive_residual_norm = solution_.residual_norm;
    solution_.history.push_back(solution_.residual_norm);
    History history(solution_.history);
    system_.conjugate_gradient.add(history);
    const auto end = restart_until_the_end();
    system_.conjugate_gradient.remove(history);
    return ended(end);
  }

 private:
  Solution ended(SolutionEnd end) {
    solution_.end = end;
    return std::move(solution_);
  }

  /// residual := b - A x, and its norm.
  void compute_residual() {
    const auto p = system_.matrix.operand();
    system_.vectors.update([&](VectorOps& local) { local.copy(x_, p); });
    system_.matrix.apply();
    system_.vectors.update([&](VectorOps& local) {
      local.copy(b_, residual_);
      local.add_scaled(-1.0, system_.matrix.result(), residual_);
    });
    solution_.residual_norm = std::sqrt(system_.vectors.dot(residual_, residual_));
  }

  SolutionEnd restart_until_the_end() {
    double best_norm = solution_.residual_norm;
    int fruitless_count = 0;
    for (;; ++solution_.restart_count) {
      if (!std::isfinite(solution_.residual_norm)) return SolutionEnd::not_finite;
      if (solution_.residual_norm <= solution_.target_norm) return SolutionEnd::converged;
      const auto end = correct();
      compute_residual();
      if (end != SolveEnd::converged && solution_.residual_norm > solution_.target_norm) return end_of(end);
      fruitless_count = solution_.residual_norm > 0.5 * best_norm ? fruitless_count + 1 : 0;
      best_norm = std::min(best_norm, solution_.residual_norm);
      constexpr int most_fruitless = 2;
      if (fruitless_count == most_fruitless && solution_.residual_norm > solution_.target_norm)
        return SolutionEnd::stagnated;
    }
  }

  /// x := x + about A^-1 residual
  SolveEnd correct() {
    const auto [end, last] = system_.conjugate_gradient.solve(
        residual_, correction_,
        NormTarget(solution_.target_norm, target_.most_iterations - solution_.iteration_count));
    solution_.iteration_count += last.number;
    solution_.recursive_residual_norm = last.residual_norm();
    solution_.curvature = last.curvature;
    // The last step of an indefinite matrix is none.
    if (end != SolveEnd::indefinite && end != SolveEnd::not_finite)
      system_.vectors.update([&](VectorOps& local) { local.add_scaled(1.0, correction_, x_); });
    return end;
  }

  static SolutionEnd end_of(SolveEnd end) {
    switch (end) {
      case SolveEnd::indefinite:
        return SolutionEnd::not_positive_definite;
      case SolveEnd::not_finite:
        return SolutionEnd::not_finite;
      default:
        return SolutionEnd::iteration_limit;
    }
  }

  const PreparedSystem& system_;
  std::span<const double> b_;
  std::span<double> x_;
  SolutionTarget target_;
  HugePageVector residual_;
  HugePageVector correction_;
  Solution solution_;
};

}  // namespace

std::string_view name_of(SolutionEnd end) { return row_of(end).name; }
ExitCode exit_code_of(SolutionEnd end) { return row_of(end).code; }

std::string Solution::reason() const {
  const auto iterations = format_count(iteration_count, "iteration");
  switch (end) {
    case SolutionEnd::iteration_limit:
      return fmt::format(
          "not converged: after {} the residual is {:.3e}, the target {:.3e}; more iterations "
          "(--max-iterations), another preconditioner or a larger --rtol would help",
          iterations, residual_norm, target_norm);
    case SolutionEnd::stagnated:
      return fmt::format(
          "stagnated after {}: the recurrence says that the residual is {:.3e}, computed anew it is "
          "{:.3e}, the target {:.3e}; double precision gives no more, a larger --rtol would help",
          iterations, recursive_residual_norm, residual_norm, target_norm);
    case SolutionEnd::not_positive_definite:
      return fmt::format(
          "not positive definite: p . A p is {:.3e} in iteration {}; conjugate gradients cannot solve "
          "this, MINRES could",
          curvature, iteration_count);
    case SolutionEnd::not_finite:
      return iteration_count == 0
                 ? std::string("the norm of b or of the first residual is NaN or infinite: scale the system")
                 : fmt::format(
                       "NaN or infinity in iteration {}: the numbers of the matrix or of b are beyond double "
                       "precision, scale the system",
                       iteration_count);
    default:
      return {};
  }
}

Solution solve_to_target(const PreparedSystem& system, std::span<const double> b, std::span<double> x,
                         const SolutionTarget& target) {
  return Loop(system, b, x, target).run();
}

}  // namespace cg2d
