#include "cg/guard/solve_guard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "cg/base/sample.hpp"
#include "cg/guard/blocked_sums.hpp"

namespace cg2d {
namespace {

constexpr double roundoff = std::numeric_limits<double>::epsilon() / 2.0;

double square_of(std::span<const double> vector) {
  return blocked_sums(vector.size(),
                      [&](std::size_t k, double& sum, double& /*unused*/) { sum += vector[k] * vector[k]; })
      .first;
}

std::span<double> writable(std::span<const double> vector) {
  // The operator's memory, which it writes itself: const for its users only.
  return {const_cast<double*>(vector.data()),
          vector.size()};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

}  // namespace

std::string describe(const Detection& detection) {
  const auto place = fmt::format("rank {}, outer iteration {}, product {}", detection.rank,
                                 detection.outer_step, detection.product);
  switch (detection.check) {
    case GuardCheck::column_range:
      return fmt::format("{}: a stored column number is out of range ({})", place, name_of(detection.check));
    case GuardCheck::matrix_bytes:
      return fmt::format("{}: the CRC-32C of the matrix block has changed ({})", place,
                         name_of(detection.check));
    case GuardCheck::block_product:
    case GuardCheck::step_relation:
    case GuardCheck::residual:
      break;
  }
  const std::string_view relation =
      detection.check == GuardCheck::block_product   ? "the sum of q differs from that of its columns"
      : detection.check == GuardCheck::step_relation ? "alpha^2 ||q||^2 differs from (1 + beta) rho"
                                                     : "x - A z differs from r";
  return fmt::format("{}: {} by {:.3g}, tolerance {:.3g} ({})", place, relation, detection.error,
                     detection.tolerance, name_of(detection.check));
}

/// The solver's operator, whose sums carry what the guard must know of all ranks.
class SolveGuard::Operator final : public LinearOperator {
 public:
  Operator(SolveGuard& guard, LinearOperator& matrix) : guard_(guard), matrix_(matrix) {}

  [[nodiscard]] std::size_t local_size() const override { return matrix_.local_size(); }
  [[nodiscard]] std::span<double> operand() override { return guard_.operand_ = matrix_.operand(); }
  void apply() override {
    matrix_.apply();
    guard_.after_apply(matrix_);
  }
  [[nodiscard]] std::span<const double> result() const override { return matrix_.result(); }
  [[nodiscard]] std::optional<double> own_product() const override { return matrix_.own_product(); }
  void sum_over_ranks(std::span<double> values) override { guard_.sum_over_ranks(matrix_, values); }
  [[nodiscard]] std::span<const Phase> phases() const override { return matrix_.phases(); }
  [[nodiscard]] std::string_view why_not_conforming() const override { return matrix_.why_not_conforming(); }
  [[nodiscard]] VectorWork update_work() const override { return matrix_.update_work(); }

 private:
  SolveGuard& guard_;
  LinearOperator& matrix_;
};

/// Adds the time of a scope to that of the guard, in timed repetitions.
class SolveGuard::Timed {
 public:
  explicit Timed(SolveGuard& guard) : guard_(guard) {}
  ~Timed() {
    if (guard_.repetition_ > 0) guard_.time_s_ += stopwatch_.seconds();
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  SolveGuard& guard_;
  Stopwatch stopwatch_;
};

SolveGuard::SolveGuard(const GuardOptions& options, const GuardedParts& parts,
                       const ProductChecksums* checksums)
    : options_(options), parts_(parts), solve_residual_(parts.communicator.piece().size()) {
  if (!options_.checks) return;
  checksums_ = *checksums;
  seal_.emplace(parts_.product.stored_arrays(), parts_.thread_count);
  const auto grid = parts_.layout.grid();
  norm_ = parts_.group.maximum(checksums_->largest_column_sum()) * grid.rows;
  longest_row_ = static_cast<double>(parts_.group.maximum(checksums_->longest_row()) * grid.columns);
}

SolveGuard::~SolveGuard() = default;

LinearOperator& SolveGuard::guarded(LinearOperator& matrix) {
  operator_ = std::make_unique<Operator>(*this, matrix);
  return *operator_;
}

void SolveGuard::begin_repetition(int outer_step_count) {
  ++repetition_;
  outer_step_ = 1;
  outer_step_count_ = outer_step_count;
  if (options_.injects && repetition_ == 1)
    injector_.emplace(draw_faults(options_.inject, parts_.group.size(), outer_step_count),
                      parts_.group.rank());
}

void SolveGuard::before_attempt(std::span<double> z) {
  z_ = z;
  product_number_ = 0;
  is_solving_ = true;
  awaited_ = Awaited::nothing;
  largest_rho_ = 0.0;
  found_ = {};
  is_agreed_ = false;
}

bool SolveGuard::before_product() {
  ++product_number_;
  if (injector_ && repetition_ == 1) {
    injector_->flip(FaultTarget::p, moment(), operand_);
    injector_->flip(FaultTarget::r, moment(), residual_);
    injector_->flip(FaultTarget::z, moment(), z_);
    injector_->flip_matrix(moment(), parts_.product, options_.checks && product_number_ == 1);
  }
  if (options_.checks && product_number_ == 1) {
    const Timed timed(*this);
    note(GuardCheck::column_range, parts_.product.has_columns_in_range());
  }
  // A column number out of range stays so until the attempt ends.
  return !found_.is_found || found_.check != GuardCheck::column_range;
}

void SolveGuard::after_product() {
  if (injector_ && repetition_ == 1) {
    auto* const mirror = parts_.communicator.mirror();
    injector_->flip(FaultTarget::block_product, moment(), parts_.communicator.partial(),
                    mirror != nullptr ? mirror->column_partial() : std::span<double>());
  }
  if (!options_.checks) return;
  const Timed timed(*this);
  note(GuardCheck::block_product, checksums_->error_of(parts_.communicator));
}

void SolveGuard::after_apply(LinearOperator& matrix) {
  if (injector_ && repetition_ == 1) injector_->flip(FaultTarget::q, moment(), writable(matrix.result()));
  awaited_ = is_solving_ ? Awaited::step_product : Awaited::residual_product;
  sums_after_product_ = 0;
}

/// Sums the values together with what the guard must know: measures of the product since the last sum, and the flag.
void SolveGuard::sum_over_ranks(LinearOperator& matrix, std::span<double> values) {
  ++sums_after_product_;
  if (options_.checks) {
    std::array<double, comm::Communicator::largest_scalar_count> all{};
    auto place = static_cast<std::size_t>(std::ranges::copy(values, all.begin()).out - all.begin());
    {
      const Timed timed(*this);
      if (awaited_ == Awaited::step_product) all[place++] = square_of(matrix.result());
      if (awaited_ == Awaited::residual_product) {
        const auto sums =
            blocked_sums(residual_.size(), [&](std::size_t k, double& difference, double& z_square) {
              const double change = residual_[k] - solve_residual_[k];
              // What was multiplied is a copy of z, of which zeta is to be computed: they must still be alike.
              const double moved = z_[k] - operand_[k];
              difference += change * change + moved * moved;
              z_square += z_[k] * z_[k];
            });
        own_difference_square_ = sums.first;
        all[place++] = sums.first;
        all[place++] = sums.second;
      }
    }
    all[place++] = found_.is_found ? 1.0 : 0.0;
    const auto& counts = comm::Communicator::scalar_counts;
    matrix.sum_over_ranks(std::span(all).first(*std::ranges::lower_bound(counts, place)));
    is_agreed_ = is_agreed_ || !(all[--place] == 0.0);
    if (awaited_ == Awaited::step_product) product_square_ = all[--place];
    if (awaited_ == Awaited::residual_product) {
      z_square_ = all[--place];
      difference_square_ = all[--place];
    }
    std::ranges::copy(std::span(all).first(values.size()), values.begin());
  } else {
    matrix.sum_over_ranks(values);
  }
  // The sums of a step: p . q, then rho.
  if (injector_ && repetition_ == 1 && is_solving_ && sums_after_product_ == 2)
    injector_->flip(FaultTarget::rho, moment(), values.first(1));
  const bool is_residual = awaited_ == Awaited::residual_product;
  awaited_ = Awaited::nothing;
  if (!options_.checks || !is_residual) return;
  judge_residual();
  check_seal();
}

/// Meurant's relation: in exact arithmetic r_new . r = 0, so ||r_new||^2 = alpha^2 ||q||^2 - rho, which is
/// alpha^2 ||q||^2 / rho = 1 + beta (G. Meurant, Lanczos and Conjugate Gradient Algorithms, SIAM 2006).
bool SolveGuard::after_step(const CgState& state) {
  if (!options_.checks) return false;
  const bool is_first = state.number == 1;
  StepNumbers step{.alpha = state.alpha,
                   .rho = is_first ? state.alpha * state.curvature : last_step_.next_rho,
                   .next_rho = state.rho,
                   .next_direction_square = state.direction_square};
  largest_rho_ = std::max({largest_rho_, step.rho, step.next_rho});
  // Of an exact solution: further steps change nothing.
  if (step.rho == 0.0 && step.next_rho == 0.0) {
    last_step_ = step;
    return is_agreed_;
  }
  const double whole = step.rho + step.next_rho;
  const double p_norm = std::sqrt(is_first ? step.rho : last_step_.next_direction_square);
  const double slope = p_norm * std::sqrt(product_square_) / std::abs(state.curvature);
  // The derivation is in the README of this room.
  const double unit =
      2.0 * roundoff * (longest_row_ + 16.0 * std::sqrt(static_cast<double>(parts_.layout.size())) + 64.0);
  step.tolerance = unit * slope;
  if (!is_first) {
    const double growth = std::abs(step.alpha / last_step_.alpha);
    const double norms = std::sqrt(last_step_.rho) + std::sqrt(step.rho);
    step.tolerance += growth *
                      (unit * step.rho / last_step_.rho * p_norm * norms + last_step_.tolerance * step.rho) /
                      whole;
  }
  note(GuardCheck::step_relation, {.error = std::abs(step.alpha * step.alpha * product_square_ - whole),
                                   .tolerance = step.tolerance * whole});
  last_step_ = step;
  return is_agreed_;
}

void SolveGuard::after_solve(std::span<const double> residual) {
  is_solving_ = false;
  if (!options_.checks) return;
  const Timed timed(*this);
  std::ranges::copy(residual, solve_residual_.begin());
}

void SolveGuard::judge_residual() {
  const double products = cg_steps_per_solve + 1;
  note(GuardCheck::residual,
       {.error = std::sqrt(difference_square_),
        .tolerance = roundoff * 2.0 * products *
                     ((longest_row_ + 4.0) * norm_ * std::sqrt(z_square_) + std::sqrt(largest_rho_))},
       own_difference_square_);
}

void SolveGuard::check_seal() {
  const Timed timed(*this);
  const bool is_last = outer_step_ == outer_step_count_;
  note(GuardCheck::matrix_bytes,
       is_last ? seal_->holds(0, 1) : seal_->holds(outer_step_ % seal_share_count, seal_share_count));
}

void SolveGuard::note(GuardCheck check, const CheckedError& error, double share) {
  const auto index = static_cast<std::size_t>(check);
  ++check_counts_[index];
  if (error.holds()) {
    largest_ratios_[index] = std::max(largest_ratios_[index], error.ratio());
    return;
  }
  if (found_.is_found) return;
  found_ = {.is_found = true,
            .check = check,
            .rank = parts_.group.rank(),
            .outer_step = outer_step_,
            .product = product_number_,
            .error = error.error,
            .tolerance = error.tolerance,
            .share = share};
}

void SolveGuard::note(GuardCheck check, bool holds) {
  note(check, CheckedError{.error = holds ? 0.0 : 1.0, .tolerance = 0.0});
}

Detection SolveGuard::first_of_all_ranks() {
  const auto all = parts_.group.gather_one(found_);
  const Detection* first = nullptr;
  const auto is_before = [](const Detection& left, const Detection& right) {
    return std::tuple(left.product, left.check, -left.share) <
           std::tuple(right.product, right.check, -right.share);
  };
  for (const auto& found : all) {
    if (found.is_found && (first == nullptr || is_before(found, *first))) first = &found;
  }
  return first == nullptr ? Detection{} : *first;
}

AttemptVerdict SolveGuard::verdict() {
  if (!is_agreed_) {
    ++outer_step_;
    failed_attempts_ = 0;
    return AttemptVerdict::accepted;
  }
  const auto first = first_of_all_ranks();
  detections_.push_back(first);
  ++failed_attempts_;
  const bool is_same = failed_attempts_ > 1 && first.check == last_failure_.check &&
                       first.rank == last_failure_.rank && first.product == last_failure_.product;
  last_failure_ = first;
  if (is_same) {
    reason_ = fmt::format("soft error, there again in a second attempt: {}", describe(first));
    return AttemptVerdict::refused;
  }
  if (failed_attempts_ == most_attempts) {
    reason_ = fmt::format("soft errors in {} attempts, the last one: {}", failed_attempts_, describe(first));
    return AttemptVerdict::refused;
  }
  ++rollback_count_;
  return AttemptVerdict::again;
}

GuardReport SolveGuard::report(double repetitions_s) const {
  struct OfRank {
    std::array<std::int64_t, guard_check_count> check_counts{};
    std::array<double, guard_check_count> largest_ratios{};
    double time_s = 0.0;
  };
  GuardReport report;
  report.options = options_;
  report.detections = detections_;
  report.rollback_count = rollback_count_;
  for (const auto& rank : parts_.group.gather_one(OfRank{check_counts_, largest_ratios_, time_s_})) {
    for (std::size_t check = 0; check < guard_check_count; ++check) {
      report.check_counts[check] += rank.check_counts[check];
      report.largest_ratios[check] = std::max(report.largest_ratios[check], rank.largest_ratios[check]);
    }
    report.time_s = std::max(report.time_s, rank.time_s);
  }
  report.time_share = repetitions_s > 0.0 ? report.time_s / repetitions_s : 0.0;
  if (!injector_) return report;
  const auto all = parts_.group.gather_all(std::span<const Fault>(injector_->faults()));
  report.faults = all.front();
  for (std::size_t index = 0; index < report.faults.size(); ++index)
    report.faults[index] = all[static_cast<std::size_t>(report.faults[index].rank)][index];
  return report;
}

}  // namespace cg2d
