#include "cg/solver/conjugate_gradient.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace cg2d {

/// One solve.
class ConjugateGradient::Run {
 public:
  Run(ConjugateGradient& solver, const LinearSystem& system, const StopRule& stop)
      : solver_(solver), system_(system), stop_(stop) {
    solver_.recurrence_ = solver_.own_recurrence_.get();
    solver_.replaced_norm_ = std::numeric_limits<double>::infinity();
    if (!stop.keeps_best()) return;
    if (solver_.kept_.x.size() != system.x.size()) solver_.kept_.x = HugePageVector(system.x.size());
    system_.kept = &solver_.kept_;
  }

  SolveResult from_zero() {
    solver_.kept_.residual = {};
    solver_.vectors_.update([&](VectorOps& local) {
      local.fill(0.0, system_.x);
      local.copy(system_.b, recurrence().residual());
    });
    recurrence().begin(state_);
    state_.right_hand_side_square = state_.residual_square;
    return finish();
  }

  SolveResult from_x() {
    solver_.kept_.residual = {};
    recurrence().recompute_residual(system_.b, system_.x);
    recurrence().begin(state_);
    state_.right_hand_side_square = solver_.vectors_.dot(system_.b, system_.b);
    return finish();
  }

  /// From the place where an observer saw the snapshot.
  SolveResult from(const CgSnapshot& snapshot) {
    std::ranges::copy(snapshot.residual, recurrence().residual().begin());
    recurrence().resume(snapshot.direction);
    state_ = snapshot.state;
    solver_.replaced_norm_ = snapshot.replaced_norm;
    // That of steps that are made again, or of another solve, is not of this one.
    if (system_.kept == nullptr || solver_.kept_.residual.step > state_.number) solver_.kept_.residual = {};
    if (state_.least_residual_square == 0.0) state_.begin_progress();  // checkpoints do not have it
    return go_on(end_after_step());
  }

 private:
  [[nodiscard]] CgRecurrence& recurrence() { return *solver_.recurrence_; }

  SolveResult finish() {
    state_.first_residual_square = state_.residual_square;
    state_.residual_is_recomputed = true;
    state_.begin_progress();
    if (state_.right_hand_side_square == 0.0) record_zeros();
    return go_on(end_of_state());
  }

  SolveResult go_on(std::optional<SolveEnd> end) {
    while (!end) end = step();
    if (end == SolveEnd::zero_right_hand_side) solve_zeros();
    if (end == SolveEnd::not_finite && input_is_finite()) end = SolveEnd::stagnated;
    if (!state_.residual_is_recomputed) recurrence_norm_ = state_.residual_norm();
    return {.end = *end,
            .last = state_,
            .recurrence_residual_norm = recurrence_norm_,
            .classic_step_count = steps_before_classic_ ? state_.number - *steps_before_classic_ : 0,
            .has_preconditioner = !solver_.parts_.preconditioner.is_identity()};
  }

  std::optional<SolveEnd> step() {
    solver_.observers_.before_step();
    if (const auto end = recurrence().step(state_, system_, stop_)) {
      return end == SolveEnd::stagnated ? replace_residual() : end;
    }
    ++state_.number;
    state_.residual_is_recomputed = false;
    state_.record_progress();
    const bool must_stop = solver_.observers_.after_step(state_);
    auto end = end_after_step();
    if (must_stop && !end) end = SolveEnd::stopped;
    return end;
  }

  std::optional<SolveEnd> end_after_step() {
    const auto end = end_of_state();
    const bool begins_again = end == SolveEnd::converged ||
                              (end == SolveEnd::stagnated &&
                               (state_.rho_rounding || (may_take_classic_form() && state_.is_idle())));
    return begins_again ? replace_residual() : end;
  }

  /// Asks the stop rule; where r . M^-1 r ends the solve, once more with its rounding bound. By a recurrence it is computed anew first:
  /// where that is positive, rounding has spoiled the recurrence.
  std::optional<SolveEnd> end_of_state() {
    state_.rho_rounding.reset();
    auto end = stop_.end_of(state_);
    if (end == SolveEnd::stagnated && state_.most_idle_steps == CgState::first_idle_steps) {
      set_most_idle_steps();
      end = stop_.end_of(state_);
    }
    if (end != SolveEnd::not_positive_definite) return end;
    state_.rho_rounding = recurrence().recompute_rho(state_);
    return stop_.end_of(state_).value_or(SolveEnd::stagnated);
  }

  /// Asks the stop rule with the recomputed residual, and begins again from it where the solve continues: so
  /// long as each time at least halves the recomputed residual. Where it does not, the roundings of a form with fewer
  /// sums may be why (those of the pipelined one grow most), and the classic form goes on.
  std::optional<SolveEnd> replace_residual() {
    recurrence_norm_ = state_.residual_norm();
    const bool was_idle = may_take_classic_form() && state_.is_idle();
    solver_.kept_.residual.begin_again(state_.residual_square);
    recurrence().recompute_residual(system_.b, system_.x);
    const auto r = recurrence().residual();
    state_.residual_square = solver_.vectors_.dot(r, r);
    state_.rho = state_.residual_square;  // that of the recurrence is not of this r; begin() computes it
    state_.residual_is_recomputed = true;
    state_.begin_progress();
    if (const auto end = stop_.end_of(state_)) return end;
    if ((was_idle || state_.residual_norm() > solver_.replaced_norm_ / 2.0) && !take_classic_form())
      return SolveEnd::stagnated;
    solver_.replaced_norm_ = state_.residual_norm();
    ++state_.replacement_count;
    recurrence().begin(state_);
    return end_of_state();
  }

  [[nodiscard]] bool may_take_classic_form() const { return !steps_before_classic_ && !solver_.is_classic(); }

  void set_most_idle_steps() {
    const double per_row =
        may_take_classic_form() ? CgState::idle_steps_per_row_with_one_sum : CgState::idle_steps_per_row;
    state_.allow_idle_steps(per_row, order_of(solver_.parts_.matrix, system_.b.size()));
  }

  /// Whether A, b, M and the initial guess are finite; else they have left the range of double precision.
  bool input_is_finite() {
    const std::array<double, 1> is_guess{state_.number == 0 ? 1.0 : 0.0};
    std::array<double, 1> count{};
    count_not_finite(solver_.parts_, system_, is_guess, count);
    return count[0] == 0.0;
  }

  /// The recurrence becomes that of the classic form, with the same residual. False where it is already.
  bool take_classic_form() {
    if (!may_take_classic_form()) return false;
    steps_before_classic_ = state_.number;
    state_.most_idle_steps = CgState::first_idle_steps;
    auto& classic = solver_.classic_recurrence();
    solver_.vectors_.update(
        [&](VectorOps& local) { local.copy(recurrence().residual(), classic.residual()); });
    solver_.recurrence_ = &classic;
    return true;
  }

  /// b . b = 0 may be an underflow.
  void record_zeros() {
    const auto nonzeros = std::ranges::count_if(system_.b, [](double element) { return element != 0.0; });
    state_.right_hand_side_is_zero = solver_.parts_.matrix.sum_of_ranks(static_cast<double>(nonzeros)) == 0.0;
  }

  void solve_zeros() {
    solver_.vectors_.outside_of_phases().fill(0.0, system_.x);
    state_.residual_square = 0.0;
  }

  ConjugateGradient& solver_;
  LinearSystem system_;
  const StopRule& stop_;
  CgState state_;
  double recurrence_norm_ = 0.0;
  std::optional<int> steps_before_classic_;  // where it took the place of another form
};

ConjugateGradient::ConjugateGradient(LinearOperator& matrix, Preconditioner& preconditioner,
                                     DistributedVectors& vectors, const CgVariantRow& variant)
    : vectors_(vectors),
      parts_{.matrix = matrix, .preconditioner = preconditioner, .vectors = vectors},
      variant_(variant) {
  lay_out();
}

void ConjugateGradient::lay_out() {
  classic_recurrence_.reset();
  own_recurrence_.reset();
  own_recurrence_ = variant_.make(parts_);
  recurrence_ = own_recurrence_.get();
  kept_ = {};
}

bool ConjugateGradient::is_classic() const { return variant_.name == cg_variant_table().front().name; }

CgRecurrence& ConjugateGradient::classic_recurrence() {
  if (!classic_recurrence_) classic_recurrence_ = cg_variant_table().front().make(parts_);
  return *classic_recurrence_;
}

SolveResult ConjugateGradient::solve(std::span<const double> b, std::span<double> x, const StopRule& stop) {
  return Run(*this, {.b = b, .x = x}, stop).from_zero();
}

SolveResult ConjugateGradient::solve_from(std::span<const double> b, std::span<double> x,
                                          const StopRule& stop) {
  return Run(*this, {.b = b, .x = x}, stop).from_x();
}

SolveResult ConjugateGradient::resume(std::span<const double> b, std::span<double> x,
                                      const CgSnapshot& snapshot, const StopRule& stop) {
  return Run(*this, {.b = b, .x = x}, stop).from(snapshot);
}

CgSnapshot ConjugateGradient::snapshot(const CgState& state) const {
  return {.state = state,
          .replaced_norm = replaced_norm_,
          .residual = recurrence_->residual(),
          .direction = recurrence_->direction()};
}

void ConjugateGradient::take_kept(std::span<const double> b, std::span<double> x, SystemSolveResult& result) {
  if (!kept_.residual.seems_better(result)) return;
  const double norm = residual_norm(b, kept_.x);
  if (kept_.residual.replaces_last(norm, result)) vectors_.outside_of_phases().copy(kept_.x, x);
}

double ConjugateGradient::residual_norm(std::span<const double> b, std::span<const double> x) {
  recurrence_->recompute_residual(b, x);
  const auto r = recurrence_->residual();
  return std::sqrt(vectors_.dot(r, r));
}

}  // namespace cg2d
