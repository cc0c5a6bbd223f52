#include "cg/solver/npb_iteration.hpp"

namespace cg2d {

bool must_stop(const OuterStep& step) { return step.stop_asked || step.is_refused || !is_finite(step); }

NpbIteration::NpbIteration(LinearOperator& matrix, PhaseTimer& timer, int thread_count, double shift)
    : shift_(shift),
      vectors_(matrix, timer, thread_count),
      matrix_(matrix),
      x_(matrix.local_size()),
      z_(matrix.local_size()),
      conjugate_gradient_(matrix, preconditioner_, vectors_) {
  reset();
}

NpbIteration::NpbIteration(AssembledOperator& assembled, double shift, OuterStepGuard* guard)
    : NpbIteration(assembled, assembled.timer(), assembled.thread_count(), shift) {
  assembled.set_observer(guard);  // one of an earlier iteration is gone
  // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): a constructor that delegates initializes nothing
  guard_ = guard;
  if (guard != nullptr) observers().add(*guard);
}

void NpbIteration::reset() {
  vectors_.outside_of_phases().fill(1.0, x_);
  curvature_signs_ = {};
  restored_number_ = 0;
}

void NpbIteration::restore(int number, ConstPiece x, const CurvatureSigns& signs) {
  std::ranges::copy(x, x_.begin());
  curvature_signs_ = signs;
  restored_number_ = number;
}

void NpbIteration::lay_out(ConstPiece x) {
  x_ = HugePageVector(matrix_.local_size());
  z_ = HugePageVector(matrix_.local_size());
  vectors_.outside_of_phases().copy(x, x_);
  conjugate_gradient_.lay_out();
}

OuterStep NpbIteration::outer_step(bool asks_to_stop) {
  OuterStep step;
  double z_square = 0.0;
  CurvatureSigns signs;
  auto verdict = AttemptVerdict::again;
  while (verdict == AttemptVerdict::again) {
    if (guard_ != nullptr)
      guard_->before_attempt({.b = x_, .x = z_, .residual = conjugate_gradient_.residual()});
    signs =
        conjugate_gradient_.iterate({.b = x_, .x = z_}, FixedSteps(cg_steps_per_solve)).front().state.signs;
    step.residual_norm = conjugate_gradient_.residual_norm(x_, z_);
    const auto [x_z, z_z, stop_requests] = vectors_.sums([&](VectorOps& local) {
      return std::array{local.dot(x_, z_), local.dot(z_, z_), asks_to_stop ? 1.0 : 0.0};
    });
    step.zeta = shift_ + 1.0 / x_z;
    step.stop_asked = stop_requests > 0.0;
    z_square = z_z;
    verdict = guard_ != nullptr ? guard_->verdict() : AttemptVerdict::accepted;
  }
  step.is_refused = verdict == AttemptVerdict::refused;
  curvature_signs_.note(signs);
  vectors_.updates()->set_scaled(1.0 / std::sqrt(z_square), z_, x_);
  return step;
}

std::vector<OuterStep> NpbIteration::outer_steps(int outer_step_count,
                                                 std::span<OuterStepObserver* const> observers) {
  std::vector<OuterStep> steps;
  for (int number = 1; number <= outer_step_count; ++number) {
    bool asks_to_stop = false;
    for (auto* observer : observers) asks_to_stop |= observer->asks_to_stop();
    for (auto* observer : observers) observer->before_outer_step();
    steps.push_back(outer_step(asks_to_stop));
    for (auto* observer : observers) observer->after_outer_step(restored_number_ + number, steps.back());
    if (must_stop(steps.back())) break;
  }
  return steps;
}

void NpbIteration::steps(int count) {
  static_cast<void>(conjugate_gradient_.iterate({.b = x_, .x = z_}, FixedSteps(count)));
}

}  // namespace cg2d
