#include "cg/solver/solver.hpp"

#include <array>
#include <cmath>

namespace cg2d {

Solver::Solver(BlockOperator& matrix, comm::Communicator& communicator, PhaseTimer& timer, int thread_count)
    : matrix_(matrix),
      communicator_(communicator),
      timer_(timer),
      vectors_(thread_count),
      x_(matrix.operand().size()),
      z_(matrix.operand().size()),
      r_(matrix.operand().size()) {
  reset();
}

void Solver::reset() {
  vectors_.fill(1.0, x_);
  curvature_signs_ = {};
}

OuterStep Solver::outer_step(double shift, bool wish_to_stop) {
  const auto traced = timer_.outer_iteration();
  OuterStep step;
  step.residual_norm = conjugate_gradient();
  std::array<double, 3> sums{};
  {
    const auto timed = timer_.scope(Phase::dot);
    sums = {vectors_.dot(x_, z_), vectors_.dot(z_, z_), wish_to_stop ? 1.0 : 0.0};
    communicator_.sum_scalars(sums);
  }
  step.zeta = shift + 1.0 / sums[0];
  step.stop_asked = sums[2] > 0.0;
  {
    const auto timed = timer_.scope(Phase::vector_updates);
    vectors_.set_scaled(1.0 / std::sqrt(sums[1]), z_, x_);
  }
  return step;
}

/// z := about A^-1 x; returns || x - A z ||. Follows conj_grad of the benchmark step by step.
double Solver::conjugate_gradient() {
  const auto p = matrix_.operand();
  {
    const auto timed = timer_.scope(Phase::vector_updates);
    vectors_.fill(0.0, z_);
    vectors_.copy(x_, r_);
    vectors_.copy(r_, p);
  }
  double rho = dot(r_, r_);
  for (int step = 0; step < cg_steps_per_solve; ++step) {
    const auto traced = timer_.cg_step();
    matrix_.apply();
    const auto q = matrix_.result();
    const double curvature = dot(p, q);
    note_curvature(curvature);
    // A residual of exactly zero is a solution: the steps that are left change nothing. (Tiny problems get
    // there.)
    const double alpha = rho == 0.0 ? 0.0 : rho / curvature;
    {
      const auto timed = timer_.scope(Phase::vector_updates);
      vectors_.add_scaled(alpha, p, z_);
      vectors_.add_scaled(-alpha, q, r_);
    }
    const double rho_before = rho;
    rho = dot(r_, r_);
    const double beta = rho_before == 0.0 ? 0.0 : rho / rho_before;
    {
      const auto timed = timer_.scope(Phase::vector_updates);
      vectors_.scale_and_add(r_, beta, p);
    }
  }
  return residual_norm();
}

double Solver::residual_norm() {
  {
    const auto timed = timer_.scope(Phase::vector_updates);
    vectors_.copy(z_, matrix_.operand());
  }
  matrix_.apply();
  {
    const auto timed = timer_.scope(Phase::vector_updates);
    vectors_.copy(x_, r_);
    vectors_.add_scaled(-1.0, matrix_.result(), r_);
  }
  return std::sqrt(dot(r_, r_));
}

double Solver::dot(std::span<const double> x, std::span<const double> y) {
  const auto timed = timer_.scope(Phase::dot);
  std::array<double, 1> sum{vectors_.dot(x, y)};
  communicator_.sum_scalars(sum);
  return sum[0];
}

void Solver::note_curvature(double value) {
  curvature_signs_.saw_positive |= value > 0.0;
  curvature_signs_.saw_negative |= value < 0.0;
}

}  // namespace cg2d
