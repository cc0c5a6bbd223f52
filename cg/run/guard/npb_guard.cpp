#include "cg/run/guard/npb_guard.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cg/run/guard/blocked_sums.hpp"

namespace cg2d {
namespace {

constexpr double roundoff = std::numeric_limits<double>::epsilon() / 2.0;

double square_of(std::span<const double> vector) {
  return blocked_sums(vector.size(),
                      [&](std::size_t k, double& sum, double& /*unused*/) { sum += vector[k] * vector[k]; })
      .first;
}

}  // namespace

NpbGuard::NpbGuard(const GuardOptions& options, const GuardedParts& parts, const ProductChecksums* checksums)
    : checks_(options, parts, checksums),
      solve_residual_(parts.communicator.piece().size()),
      relation_(checks_.scale()) {}

LinearOperator& NpbGuard::guarded(LinearOperator& matrix) {
  operator_ = std::make_unique<WatchedOperator>(static_cast<SumObserver&>(*this), matrix);
  return *operator_;
}

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
  sums_.awaited = Awaited::nothing;
  largest_rho_ = 0.0;
  sums_.is_agreed = false;
  relation_.begin();
  checks_.begin_attempt();
}

bool NpbGuard::before_product() {
  ++product_number_;
  checks_.set_place(outer_step_, product_number_);
  const bool has_checks = checks_.options().checks;
  if (auto* const injector = checks_.injector()) {
    injector->flip(FaultTarget::p, checks_.place(), operand_);
    injector->flip(FaultTarget::r, checks_.place(), residual_);
    injector->flip(FaultTarget::z, checks_.place(), z_);
    injector->flip_matrix(checks_.place(), checks_.parts().product, has_checks && product_number_ == 1);
  }
  if (has_checks && product_number_ == 1) checks_.check_columns();
  return !checks_.must_not_multiply();
}

void NpbGuard::after_product() {
  checks_.flip_block_product();
  if (checks_.options().checks) checks_.check_product();
}

void NpbGuard::apply(LinearOperator& matrix) {
  matrix.apply();
  if (auto* const injector = checks_.injector())
    injector->flip(FaultTarget::q, checks_.place(), writable(matrix.result()));
  sums_.awaited = is_solving_ ? Awaited::step_product : Awaited::residual_product;
  sums_after_product_ = 0;
}

/// Sums the values together with what the guard must know: measures of the product since the last sum, and the flag.
void NpbGuard::sum_over_ranks(LinearOperator& matrix, std::span<double> values) {
  ++sums_after_product_;
  const bool has_checks = checks_.options().checks;
  if (has_checks) {
    std::array<double, 2> measures{};
    {
      const GuardChecks::Timed timed(checks_);
      if (sums_.awaited == Awaited::step_product) measures[0] = square_of(matrix.result());
      if (sums_.awaited == Awaited::residual_product) {
        const auto sums =
            blocked_sums(residual_.size(), [&](std::size_t k, double& difference, double& z_square) {
              const double change = residual_[k] - solve_residual_[k];
              // The operand is a copy of z, of which zeta is to be computed: they must still be alike.
              const double moved = z_[k] - operand_[k];
              difference += change * change + moved * moved;
              z_square += z_[k] * z_[k];
            });
        own_difference_square_ = sums.first;
        measures = {sums.first, sums.second};
      }
    }
    checks_.sum_awaited(matrix, values, measures, sums_);
  } else {
    matrix.sum_over_ranks(values);
  }
  // The sums of a step: p . q, then rho.
  auto* const injector = checks_.injector();
  if (injector != nullptr && is_solving_ && sums_after_product_ == 2)
    injector->flip(FaultTarget::rho, checks_.place(), values.first(1));
  const bool is_residual = sums_.awaited == Awaited::residual_product;
  sums_.awaited = Awaited::nothing;
  if (!has_checks || !is_residual) return;
  judge_residual();
  check_seal();
}

bool NpbGuard::after_step(const CgState& state) {
  if (!checks_.options().checks) return false;
  const double rho_before = state.alpha * state.curvature;
  largest_rho_ = std::max({largest_rho_, rho_before, state.rho});
  checks_.note(GuardCheck::step_relation, relation_.after_step(state, sums_.product_square));
  return sums_.is_agreed;
}

void NpbGuard::after_solve(std::span<const double> residual) {
  is_solving_ = false;
  if (!checks_.options().checks) return;
  const GuardChecks::Timed timed(checks_);
  std::ranges::copy(residual, solve_residual_.begin());
}

void NpbGuard::judge_residual() {
  const double products = cg_steps_per_solve + 1;
  const auto& scale = checks_.scale();
  checks_.note(GuardCheck::residual,
               {.error = std::sqrt(sums_.difference_square),
                .tolerance = roundoff * 2.0 * products *
                             ((scale.longest_row + 4.0) * scale.norm * std::sqrt(sums_.vector_square) +
                              std::sqrt(largest_rho_))},
               own_difference_square_);
}

void NpbGuard::check_seal() {
  const bool is_last = outer_step_ == outer_step_count_;
  checks_.check_seal(is_last ? 0 : outer_step_ % seal_share_count, is_last ? 1 : seal_share_count);
}

AttemptVerdict NpbGuard::verdict() {
  if (sums_.is_agreed) return checks_.judge();
  ++outer_step_;
  checks_.accept();
  return AttemptVerdict::accepted;
}

}  // namespace cg2d
