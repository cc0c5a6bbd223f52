#include "cg/solver/classic_recurrence.hpp"

#include <array>

namespace cg2d {

ClassicRecurrence::ClassicRecurrence(const CgParts& parts)
    : CgRecurrence(parts), own_direction_(preconditioner_.uses_products() ? matrix_.local_size() : 0) {}

void ClassicRecurrence::begin(CgState& state) {
  const auto preconditioned = preconditioner_.apply(r_, vectors_);
  p_ = preconditioner_.uses_products() ? std::span<double>(own_direction_) : matrix_.operand();
  vectors_.update([&](VectorOps& local) { local.copy(preconditioned, p_); });
  take_products(state, preconditioned);
  state.direction_square = state.rho;
}

std::optional<SolveEnd> ClassicRecurrence::step(CgState& state, const LinearSystem& system,
                                                const StopRule& stop) {
  multiply();
  const auto q = matrix_.result();
  state.note_curvature(vectors_.dot(p_, q));
  if (const auto end = stop.end_within_step(state)) return end;
  // A residual of exactly zero is a solution: further steps change nothing. (Tiny problems get there.)
  state.alpha = state.rho == 0.0 ? 0.0 : state.rho / state.curvature;
  vectors_.update([&](VectorOps& local) {
    local.add_scaled(state.alpha, p_, system.x);
    local.add_scaled(-state.alpha, q, r_);
  });
  const auto preconditioned = preconditioner_.apply(r_, vectors_);
  const double rho_before = state.rho;
  take_products(state, preconditioned);
  state.note_beta(rho_before);
  vectors_.update([&](VectorOps& local) { local.scale_and_add(preconditioned, state.beta, p_); });
  return std::nullopt;
}

/// The operator's result := A p
void ClassicRecurrence::multiply() {
  if (preconditioner_.uses_products()) {
    const auto operand = matrix_.operand();
    vectors_.update([&](VectorOps& local) { local.copy(p_, operand); });
  }
  matrix_.apply();
}

/// rho = r . M^-1 r and r . r, which are the same without preconditioner.
void ClassicRecurrence::take_products(CgState& state, std::span<const double> preconditioned) {
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

}  // namespace cg2d
