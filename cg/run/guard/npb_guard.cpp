#include "cg/run/guard/npb_guard.hpp"

#include <algorithm>

namespace cg2d {

NpbGuard::NpbGuard(const GuardOptions& options, const GuardedParts& parts, const ProductChecksums* checksums)
    : checks_(options, parts, checksums), solve_residual_(parts.communicator.piece().size()) {}

void NpbGuard::begin_repetition(int outer_step_count) {
  ++repetition_;
  outer_step_ = 1;
  outer_step_count_ = outer_step_count;
  checks_.begin_timing();
  const auto& options = checks_.options();
  if (options.injects && repetition_ == 1)
    checks_.set_faults(draw_faults(options.inject, checks_.parts().group.size(), outer_step_count));
  if (repetition_ > 1) checks_.stop_injecting();
}

void NpbGuard::before_attempt(std::span<double> z) {
  z_ = z;
  product_number_ = 0;
  is_solving_ = true;
  checks_.begin_attempt(checks_.no_steps());
}

bool NpbGuard::before_product() {
  ++product_number_;
  checks_.set_place(outer_step_, product_number_);
  return checks_.before_product({written_operand(), residual_, z_}, product_number_ == 1, true);
}

void NpbGuard::apply() {
  matrix().apply();
  checks_.flip(FaultTarget::q, writable_result());
  checks_.await(is_solving_ ? Awaited::step_product : Awaited::residual_product);
  sums_after_product_ = 0;
}

TwoSums NpbGuard::measures(Awaited awaited) {
  if (awaited == Awaited::step_product) return square_of(matrix().result());
  const auto operand = written_operand();
  return blocked_sums(residual_.size(), [&](std::size_t k, double& difference, double& z_square) {
    const double change = residual_[k] - solve_residual_[k];
    // The operand is a copy of z, of which zeta is to be computed: they must still be alike.
    const double moved = z_[k] - operand[k];
    difference += change * change + moved * moved;
    z_square += z_[k] * z_[k];
  });
}

void NpbGuard::sum_over_ranks(std::span<double> values) {
  const auto residual = checks_.sum(matrix(), values, [this](Awaited awaited) { return measures(awaited); });
  // The sums of a step: p . q, then rho.
  if (is_solving_ && ++sums_after_product_ == 2) checks_.flip(FaultTarget::rho, values.first(1));
  if (!residual) return;
  checks_.check_residual(*residual, cg_steps_per_solve + 1);
  checks_.check_seal(outer_step_, outer_step_ == outer_step_count_);
}

bool NpbGuard::after_step(const CgState& state) {
  if (!checks_.options().checks) return false;
  checks_.check_step(state);
  return checks_.is_agreed();
}

void NpbGuard::after_solve(std::span<const double> residual) {
  is_solving_ = false;
  if (!checks_.options().checks) return;
  const GuardChecks::Timed timed(checks_);
  std::ranges::copy(residual, solve_residual_.begin());
}

AttemptVerdict NpbGuard::verdict() {
  const auto verdict = checks_.judge(checks_.is_agreed());
  if (verdict == AttemptVerdict::accepted) ++outer_step_;
  return verdict;
}

}  // namespace cg2d
