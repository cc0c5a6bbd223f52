#include "cg/solver/one_sum_recurrence.hpp"

namespace cg2d {

void OneSumRecurrence::multiply(std::span<const double> vector) {
  const auto operand = matrix_.operand();
  // A preconditioner may have left its result there.
  if (operand.data() != vector.data() && !operand.empty())
    vectors_.update([&](VectorOps& local) { local.copy(vector, operand); });
  matrix_.apply();
}

void OneSumRecurrence::begin_with(CgState& state, const Products& products) {
  state.rho = products[0];
  state.residual_square = products[2];
  state.direction_square = state.rho;
  next_curvature_ = products[1];
  is_direct_ = true;
}

void OneSumRecurrence::go_on_with(CgState& state, const Products& products, const LinearSystem& system) {
  const double rho_before = state.rho;
  const double square_before = state.residual_square;
  state.rho = products[0];
  state.residual_square = products[2];
  state.record_beta(rho_before);
  next_curvature_ = products[1];
  if (state.alpha != 0.0) next_curvature_ -= state.beta * state.rho / state.alpha;
  is_direct_ = false;
  keep_iterate(state, square_before, system, p_);
}

std::optional<SolveEnd> OneSumRecurrence::end_within_step(CgState& state, const StopRule& stop) {
  state.record_curvature(next_curvature_);
  auto end = stop.end_within_step(state);
  if (!end) return end;
  if (!is_direct_) {
    multiply(p_);
    state.record_curvature(vectors_.dot(p_, matrix_.result()));
    end = stop.end_within_step(state);
  }
  if (end == SolveEnd::not_positive_definite) end = end_with_rounding(state, stop, p_);
  return is_direct_ ? end : end.value_or(SolveEnd::stagnated);
}

}  // namespace cg2d
