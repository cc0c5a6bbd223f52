#include "cg/solver/npb_iteration.hpp"

#include <array>

namespace cg2d {

NpbIteration::NpbIteration(LinearOperator& matrix, PhaseTimer& timer, int thread_count)
    : OuterIteration(matrix, timer, thread_count), conjugate_gradient_(matrix, preconditioner_, vectors_) {}

OuterIteration::Attempt NpbIteration::attempt(double shift, bool asks_to_stop) {
  if (guard_ != nullptr)
    guard_->before_attempt({.b = x_, .x = z_, .residual = conjugate_gradient_.residual()});
  const auto solved = conjugate_gradient_.solve(x_, z_, FixedSteps(cg_steps_per_solve));
  OuterStep step;
  step.residual_norm = conjugate_gradient_.residual_norm(x_, z_);
  const auto [x_z, z_z, stop_requests] = vectors_.sums([&](VectorOps& local) {
    return std::array{local.dot(x_, z_), local.dot(z_, z_), asks_to_stop ? 1.0 : 0.0};
  });
  step.zeta = shift + 1.0 / x_z;
  step.stop_asked = stop_requests > 0.0;
  return {.step = step, .z_square = z_z, .signs = solved.last.signs};
}

void NpbIteration::steps(int count) {
  static_cast<void>(conjugate_gradient_.solve(x_, z_, FixedSteps(count)));
}

IterationRow npb_iteration() {
  return {.name = "npb",
          .description = "inverse iteration: each solve by 25 steps of conjugate gradients",
          .counts = {},
          .can_be_guarded = true,
          .is_predicted = true,
          .make = [](LinearOperator& matrix, PhaseTimer& timer,
                     int thread_count) -> std::unique_ptr<OuterIteration> {
            return std::make_unique<NpbIteration>(matrix, timer, thread_count);
          }};
}

}  // namespace cg2d
