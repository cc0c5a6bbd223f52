#include "cg/run/guard/solve_guard.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace cg2d {

/// Asks a rule with the numbers that all ranks have alike.
class SolveGuard::Stop final : public StopRule {
 public:
  Stop(SolveGuard& guard, const StopRule& rule) : guard_(guard), rule_(rule) {}
  [[nodiscard]] std::optional<SolveEnd> end_of(const CgState& state) const override {
    return rule_.end_of(guard_.agreed(state));
  }
  [[nodiscard]] std::optional<SolveEnd> end_within_step(const CgState& state) const override {
    return rule_.end_within_step(guard_.agreed(state));
  }

 private:
  SolveGuard& guard_;
  const StopRule& rule_;
};

SolveGuard::SolveGuard(const GuardOptions& options, const GuardedParts& parts,
                       const ProductChecksums* checksums)
    : checks_(options, parts, checksums) {}

std::optional<SystemSolveResult> SolveGuard::solve(const GuardedSystem& system, const SystemVectors& vectors,
                                                   const StopRule& stop) {
  solver_ = &system.solver;
  inverse_diagonal_ = system.inverse_diagonal;
  b_ = vectors.b;
  x_ = vectors.x;
  residual_ = system.solver.residual();
  const auto& options = checks_.options();
  if (options.injects)
    checks_.set_faults(draw_solve_faults(options.inject, checks_.parts().group.size(),
                                         std::min(system.most_iterations, last_faulty_iteration)));
  // In a positive definite matrix | a_ij | <= sqrt(a_ii a_jj).
  if (!inverse_diagonal_.empty()) checks_.scale_by_diagonal();
  if (options.checks) {
    kept_.x = HugePageVector(x_.size());
    std::ranges::copy(x_, kept_.x.begin());
    kept_.steps = checks_.no_steps();
    if (vectors.starts_from_x) guess_norm_ = norm_of_guess();
  }
  checks_.begin_timing();
  const Stop agreed_stop(*this, stop);
  auto& observers = system.solver.observers();
  observers.add(*this);
  auto from = vectors;
  std::optional<SystemSolveResult> accepted;
  for (bool is_over = false; !is_over;) {
    begin_attempt();
    const auto snapshot = kept_.snapshot();
    from.snapshot = kept_.has_steps ? &snapshot : nullptr;
    const auto result = system.solver.solve(from, agreed_stop).front();
    const bool goes_on = is_segment_end_ && result.end == SolveEnd::stopped;
    const auto judged = verdict(goes_on);
    const bool is_trusted_end = judged == AttemptVerdict::accepted && !goes_on && is_trusted(result);
    is_over = judged == AttemptVerdict::refused;
    if (judged == AttemptVerdict::accepted && goes_on) {
      std::swap(kept_, next_);
      ++segment_count_;
    } else if (is_trusted_end) {
      accepted = result;
      is_over = true;
    } else if (!is_over) {
      system.goes_back(kept_.state.number);
    }
  }
  observers.remove(*this);
  return accepted;
}

/// x as it was where the attempt begins.
void SolveGuard::begin_attempt() {
  checks_.begin_attempt(kept_.steps);
  steps_done_ = kept_.state.number;
  products_of_step_ = -1;
  has_stepped_ = false;
  is_first_state_ = true;
  is_segment_end_ = false;
  product_count_ = 0;
  if (checks_.options().checks) std::ranges::copy(kept_.x, x_.begin());
}

/// After the last sum of an attempt, with what was found since.
AttemptVerdict SolveGuard::verdict(bool goes_on) {
  if (!checks_.options().checks) return AttemptVerdict::accepted;
  checks_.check_seal(segment_count_, !goes_on);
  return checks_.judge(checks_.parts().group.maximum(checks_.has_found() ? 1.0 : 0.0) > 0.0);
}

/// A flip may have made a number negative or infinite within a step, whose other numbers are then never compared.
bool SolveGuard::is_trusted(const SystemSolveResult& result) {
  const bool is_usual = result.end == SolveEnd::converged || result.end == SolveEnd::step_limit ||
                        result.end == SolveEnd::stopped || result.end == SolveEnd::zero_right_hand_side;
  if (is_usual || product_count_ == 0 || !checks_.options().checks) return true;
  const bool is_confirmed =
      doubt_count_ > 0 && doubted_.end == result.end && doubted_.step_count == result.step_count;
  doubted_ = result;
  return is_confirmed || ++doubt_count_ == GuardChecks::most_attempts;
}

void SolveGuard::before_step() {
  products_of_step_ = 0;
  sums_of_step_ = 0;
  has_stepped_ = true;
}

void SolveGuard::set_aside(bool is_aside) {
  is_aside_ = is_aside;
  if (is_aside) kept_products_ = products_of_step_;
  products_of_step_ = is_aside ? -1 : kept_products_;
}

void SolveGuard::apply() {
  if (is_aside_) return matrix().apply();
  const bool is_of_step = products_of_step_ == 0;
  if (products_of_step_ >= 0) ++products_of_step_;
  // Number of the step under way, or of the last one.
  checks_.set_place(of_a_solve, is_of_step ? steps_done_ + 1 : steps_done_);
  checks_.await(is_of_step ? Awaited::step_product : Awaited::nothing);
  if (is_of_step) {
    matrix().apply();
    return checks_.flip(FaultTarget::q, writable_result());
  }
  products_of_step_ = -1;
  std::optional<GuardChecks::Timed> timed;
  if (is_segment_end_) timed.emplace(checks_);
  matrix().apply();
  timed.reset();
  if (checks_.options().checks && has_stepped_) measure_residual();
  has_stepped_ = false;
}

bool SolveGuard::before_product() {
  return checks_.before_product({written_operand(), residual_, x_}, product_count_++ == 0,
                                products_of_step_ == 1);
}

/// The norm of the initial guess by M.
double SolveGuard::norm_of_guess() {
  const auto squares = blocked_sums(x_.size(), [&](std::size_t k, double& sum, double& /*unused*/) {
    sum += inverse_diagonal_.empty() ? x_[k] * x_[k] : x_[k] * x_[k] / inverse_diagonal_[k];
  });
  return std::sqrt(matrix().sum_of_ranks(squares.first));
}

/// After the product A x, before r becomes the residual that is computed anew: norms of b - A x - r by M^-1, of x by M.
void SolveGuard::measure_residual() {
  const GuardChecks::Timed timed(checks_);
  const auto product = matrix().result();
  const auto operand = written_operand();
  residual_squares_ =
      blocked_sums(residual_.size(), [&](std::size_t k, double& difference, double& x_square) {
        const double inverse = inverse_diagonal_.empty() ? 1.0 : inverse_diagonal_[k];
        const double change = b_[k] - product[k] - residual_[k];
        difference += change * change * inverse;
        x_square += x_[k] * x_[k] / inverse;
        // The operand is a copy of x: they must still be alike.
        if (!(x_[k] == operand[k])) difference = std::numeric_limits<double>::infinity();
      });
  checks_.await(Awaited::residual_product);
}

/// Measures q . M^-1 q of a step's product.
void SolveGuard::sum_over_ranks(std::span<double> values) {
  const auto residual = checks_.sum(matrix(), values, [this](Awaited awaited) {
    return awaited == Awaited::step_product ? square_of(matrix().result(), inverse_diagonal_)
                                            : residual_squares_;
  });
  if (products_of_step_ == 1) {
    record_sum_of_step(values);
    if (sums_of_step_ == 2) checks_.flip(FaultTarget::rho, values.first(1));
  }
  if (residual) checks_.check_residual(*residual, steps_done_ + 1, 2.0 * guess_norm_);
}

/// p . q, then rho, and with M also r . r.
void SolveGuard::record_sum_of_step(std::span<const double> values) {
  ++sums_of_step_;
  if (sums_of_step_ == 1) summed_.record_curvature(values[0]);
  if (sums_of_step_ != 2) return;
  const double rho_before = summed_.rho;
  summed_.rho = values[0];
  summed_.residual_square = values.size() > 1 ? values[1] : values[0];
  summed_.record_beta(rho_before);
  summed_.number = steps_done_ + 1;
  summed_.record_progress();
}

/// The state with the numbers of sums; a residual that was computed anew begins them again.
CgState SolveGuard::agreed(const CgState& state) {
  auto all = state;
  if (has_stepped_) {
    all.rho = summed_.rho;
    all.residual_square = summed_.residual_square;
    all.curvature = summed_.curvature;
    all.direction_square = summed_.direction_square;
    all.largest_quotient = summed_.largest_quotient;
    all.signs = summed_.signs;
    all.least_residual_square = summed_.least_residual_square;
    all.least_residual_step = summed_.least_residual_step;
    return all;
  }
  if (!is_first_state_) all.largest_quotient = summed_.largest_quotient;
  is_first_state_ = false;
  summed_ = all;
  return all;
}

bool SolveGuard::after_step(const CgState& state) {
  products_of_step_ = -1;
  steps_done_ = state.number;
  if (!checks_.options().checks) return false;
  checks_.check_step(state, state.rho == summed_.rho && state.curvature == summed_.curvature &&
                                state.residual_square == summed_.residual_square);
  is_segment_end_ = state.number % steps_per_segment == 0;
  if (is_segment_end_) keep(state);
  return checks_.is_agreed() || is_segment_end_;
}

void SolveGuard::keep(const CgState& state) {
  const GuardChecks::Timed timed(checks_);
  const auto snapshot = solver_->snapshot(state);
  const auto copy = [](std::span<const double> from, HugePageVector& to) {
    if (to.size() != from.size()) to = HugePageVector(from.size());
    std::ranges::copy(from, to.begin());
  };
  copy(x_, next_.x);
  copy(snapshot.residual, next_.residual);
  copy(snapshot.direction, next_.direction);
  next_.state = snapshot.state;
  next_.replaced_norm = snapshot.replaced_norm;
  next_.steps = checks_.steps();
  next_.has_steps = true;
}

}  // namespace cg2d
