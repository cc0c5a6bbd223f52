#include "cg/run/guard/step_relation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cg2d {

StepRelation::StepRelation(const MatrixScale& scale) {
  constexpr double twice_roundoff = std::numeric_limits<double>::epsilon();
  dot_unit_ = twice_roundoff * (16.0 * std::sqrt(scale.order) + 64.0);
  product_unit_ = twice_roundoff * (scale.longest_row + 4.0) * scale.norm;
}

/// At least | p_before . q |, which is 0 in exact arithmetic.
double StepRelation::product_overlap(const Step& step) const {
  const double norms = std::sqrt(last_.rho) + std::sqrt(step.rho);
  const double of_roundings = dot_unit_ * (2.0 * norms * step.direction_norm + step.rho +
                                           step.beta_before * std::sqrt(last_.rho) * last_.direction_norm);
  const double of_last_step =
      last_.residual_overlap +
      step.beta_before * (last_.beta_before * last_.direction_overlap + step.direction_overlap);
  return 2.0 * product_unit_ * last_.direction_norm * step.direction_norm +
         (of_roundings + of_last_step) / std::abs(last_.alpha);
}

CheckedError StepRelation::after_step(const CgState& state, double product_square) {
  largest_rho_ = std::max({largest_rho_, std::abs(state.alpha * state.curvature), std::abs(state.rho)});
  const bool is_first = !has_last_ || state.replacement_count != replacement_count_;
  Step step{.alpha = state.alpha,
            .beta_before = is_first ? 0.0 : last_.next_rho / last_.rho,
            .rho = is_first ? state.alpha * state.curvature : last_.next_rho,
            .next_rho = state.rho,
            .product_norm = std::sqrt(product_square),
            .next_direction_norm = std::sqrt(state.direction_square)};
  has_last_ = true;
  replacement_count_ = state.replacement_count;
  step.direction_norm = is_first ? std::sqrt(step.rho) : last_.next_direction_norm;
  // An exact solution: further steps change nothing.
  if (step.rho == 0.0 && step.next_rho == 0.0) {
    has_last_ = false;
    return {};
  }
  double product_overlap_bound = 0.0;
  if (!is_first) {
    const double norms = std::sqrt(last_.rho) + std::sqrt(step.rho);
    step.direction_overlap =
        last_.beta_before * last_.direction_overlap +
        dot_unit_ * last_.direction_norm * (std::abs(last_.alpha) * last_.product_norm + norms);
    product_overlap_bound = product_overlap(step);
  }
  const double whole = step.rho + step.next_rho;
  step.residual_overlap = std::abs(step.alpha) * (dot_unit_ * step.direction_norm * step.product_norm +
                                                  step.beta_before * product_overlap_bound) +
                          dot_unit_ * whole;
  last_ = step;
  return {.error = std::abs(step.alpha * step.alpha * product_square - whole),
          .tolerance = 2.0 * step.residual_overlap};
}

}  // namespace cg2d
