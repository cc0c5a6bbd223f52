// CG as Hestenes and Stiefel wrote it, with the order of operations of conj_grad in the NAS benchmark.

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "cg/base/process_memory.hpp"
#include "cg/solver/cg_recurrence.hpp"

namespace cg2d {
namespace {

/// Two sums over all ranks per step, and one product. The direction p lies in the operator's operand, unless
/// the preconditioner needs that for products of its own.
class ClassicRecurrence final : public CgRecurrence {
 public:
  explicit ClassicRecurrence(const CgParts& parts);

  void begin(CgState& state) override;
  std::optional<SolveEnd> step(CgState& state, const LinearSystem& system, const StopRule& stop) override;
  [[nodiscard]] bool can_be_resumed() const override { return true; }
  [[nodiscard]] std::span<const double> direction() const override { return p_; }
  void resume(std::span<const double> direction) override;

 private:
  void place_direction();
  void multiply();
  [[nodiscard]] double curvature();
  [[nodiscard]] std::optional<SolveEnd> end_within_step(CgState& state, const StopRule& stop);
  void finish_step(CgState& state, const LinearSystem& system);
  void finish_step(CgState& state, const LinearSystem& system, std::span<const double> diagonal);
  void compute_products(CgState& state, std::span<const double> preconditioned);

  HugePageVector own_direction_;
  std::span<double> p_;
};

ClassicRecurrence::ClassicRecurrence(const CgParts& parts)
    : CgRecurrence(parts), own_direction_(preconditioner_.uses_products() ? matrix_.local_size() : 0) {}

void ClassicRecurrence::begin(CgState& state) {
  const auto preconditioned = preconditioner_.apply(r_, vectors_);
  place_direction();
  vectors_.update([&](VectorOps& local) { local.copy(preconditioned, p_); });
  compute_products(state, preconditioned);
  state.direction_square = state.rho;
}

void ClassicRecurrence::place_direction() {
  p_ = preconditioner_.uses_products() ? std::span<double>(own_direction_) : matrix_.operand();
}

void ClassicRecurrence::resume(std::span<const double> direction) {
  place_direction();
  std::ranges::copy(direction, p_.begin());
}

std::optional<SolveEnd> ClassicRecurrence::step(CgState& state, const LinearSystem& system,
                                                const StopRule& stop) {
  multiply();
  state.record_curvature(curvature());
  if (const auto end = end_within_step(state, stop)) return end;
  // A residual of exactly zero is a solution: further steps change nothing. (Tiny problems get there.)
  state.alpha = state.rho == 0.0 ? 0.0 : state.rho / state.curvature;
  const bool is_exact = matrix_.most_terms() > 0.0;  // which the operation with a diagonal is not
  if (const auto diagonal = preconditioner_.inverse_diagonal(); !diagonal.empty() && !is_exact) {
    finish_step(state, system, diagonal);
  } else {
    finish_step(state, system);
  }
  return std::nullopt;
}

/// Where the step goes on, p and A p are where they were.
std::optional<SolveEnd> ClassicRecurrence::end_within_step(CgState& state, const StopRule& stop) {
  const auto seeming_end = stop.end_within_step(state);
  if (seeming_end != SolveEnd::not_positive_definite) return seeming_end;
  HugePageVector direction(p_.size());
  std::ranges::copy(p_, direction.begin());
  const auto end = end_with_rounding(state, stop, direction);
  if (end) return end;
  matrix_.set_aside(true);
  resume(direction);
  multiply();
  matrix_.set_aside(false);
  return std::nullopt;
}

/// p . A p after the product.
double ClassicRecurrence::curvature() {
  const auto own = matrix_.own_product();
  if (!own) return vectors_.dot(p_, matrix_.result());
  return vectors_.sums([&](VectorOps&) { return std::array{*own}; })[0];
}

/// From alpha to the next direction.
void ClassicRecurrence::finish_step(CgState& state, const LinearSystem& system) {
  vectors_.update([&](VectorOps& local) { local.add_scaled(-state.alpha, matrix_.result(), r_); });
  const auto preconditioned = preconditioner_.apply(r_, vectors_);
  const double rho_before = state.rho;
  const double square_before = state.residual_square;
  compute_products(state, preconditioned);
  state.record_beta(rho_before);
  keep_iterate(state, square_before, system);
  vectors_.update(
      [&](VectorOps& local) { local.step_and_turn(state.alpha, state.beta, preconditioned, p_, system.x); });
}

/// From alpha to the next direction in two passes over the vectors: quicker where these are in memory.
void ClassicRecurrence::finish_step(CgState& state, const LinearSystem& system,
                                    std::span<const double> diagonal) {
  std::array<double, 2> products{};
  vectors_.update(
      [&](VectorOps& local) { products = local.step_residual(state.alpha, matrix_.result(), diagonal, r_); });
  const double rho_before = state.rho;
  const double square_before = state.residual_square;
  const auto summed = vectors_.sums([&](VectorOps&) { return products; });
  state.rho = summed[0];
  state.residual_square = summed[1];
  state.record_beta(rho_before);
  keep_iterate(state, square_before, system);
  vectors_.update(
      [&](VectorOps& local) { local.step_and_turn(state.alpha, state.beta, diagonal, r_, p_, system.x); });
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
void ClassicRecurrence::compute_products(CgState& state, std::span<const double> preconditioned) {
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

}  // namespace

CgVariantRow classic_variant() {
  return {.name = "classic",
          .description = "two sums over all ranks per step, as in the benchmark",
          .sums_per_step = 2,
          .make = &make_recurrence<ClassicRecurrence>};
}

}  // namespace cg2d
