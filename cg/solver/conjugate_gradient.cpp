#include "cg/solver/conjugate_gradient.hpp"

#include <array>
#include <cmath>
#include <optional>

namespace cg2d {

SolveResult ConjugateGradient::solve(std::span<const double> b, std::span<double> x, const StopRule& stop) {
  const auto p = matrix_.operand();
  CgState state = start(b, x, p);
  std::optional<SolveEnd> end = stop.end_of(state);
  while (!end) {
    for (auto* observer : observers_) observer->before_step();
    step(state, x, p);
    end = stop.end_of(state);
    if (observers_stop(state) && !end) end = SolveEnd::stopped;
  }
  return {.end = *end, .last = state};
}

/// x := 0, r := b, p := M^-1 r
CgState ConjugateGradient::start(std::span<const double> b, std::span<double> x, std::span<double> p) {
  std::span<const double> preconditioned;
  vectors_.update([&](VectorOps& local) {
    local.fill(0.0, x);
    local.copy(b, r_);
    preconditioned = preconditioner_.apply(r_, local);
    local.copy(preconditioned, p);
  });
  CgState state;
  take_products(state, preconditioned);
  state.first_residual_square = state.residual_square;
  return state;
}

/// One step, in the order of conj_grad of the benchmark.
void ConjugateGradient::step(CgState& state, std::span<double> x, std::span<double> p) {
  matrix_.apply();
  const auto q = matrix_.result();
  state.curvature = vectors_.dot(p, q);
  state.signs.note(state.curvature);
  // A residual of exactly zero is a solution: further steps change nothing. (Tiny problems get there.)
  state.alpha = state.rho == 0.0 ? 0.0 : state.rho / state.curvature;
  std::span<const double> preconditioned;
  vectors_.update([&](VectorOps& local) {
    local.step_along(state.alpha, p, q, x, r_);
    preconditioned = preconditioner_.apply(r_, local);
  });
  const double rho_before = state.rho;
  take_products(state, preconditioned);
  state.beta = rho_before == 0.0 ? 0.0 : state.rho / rho_before;
  vectors_.update([&](VectorOps& local) { local.scale_and_add(preconditioned, state.beta, p); });
  ++state.number;
}

/// rho = r . M^-1 r and r . r, which are the same without preconditioner.
void ConjugateGradient::take_products(CgState& state, std::span<const double> preconditioned) {
  if (preconditioner_.is_identity()) {
    state.rho = vectors_.dot(r_, r_);
    state.residual_square = state.rho;
    return;
  }
  const auto both = vectors_.sums([&](VectorOps& local) {
    return std::array{local.dot(r_, preconditioned), local.dot(r_, r_)};
  });
  state.rho = both[0];
  state.residual_square = both[1];
}

bool ConjugateGradient::observers_stop(const CgState& state) {
  bool stop = false;
  for (auto* observer : observers_) stop |= observer->after_step(state);
  return stop;
}

double ConjugateGradient::residual_norm(std::span<const double> b, std::span<const double> x) {
  const auto p = matrix_.operand();
  vectors_.update([&](VectorOps& local) { local.copy(x, p); });
  matrix_.apply();
  vectors_.update([&](VectorOps& local) {
    local.copy(b, r_);
    local.add_scaled(-1.0, matrix_.result(), r_);
  });
  return std::sqrt(vectors_.dot(r_, r_));
}

}  // namespace cg2d
