#include "cg/solver/several_systems.hpp"

#include <algorithm>
#include <cmath>

namespace cg2d {
namespace {

/// Whether the rule ends a system for a sign that may be rounding, and has not been asked with the bound of it yet.
template <typename System>
bool curvature_is_in_doubt(const System& system) {
  return system.end == SolveEnd::not_positive_definite && system.state.curvature_is_in_doubt() &&
         !system.state.curvature_rounding;
}
template <typename System>
bool rho_is_in_doubt(const System& system) {
  return system.end == SolveEnd::not_positive_definite && system.state.rho <= 0.0 &&
         !system.state.rho_rounding;
}

class OneSystem final : public SystemSolver {
 public:
  OneSystem(const CgParts& parts, const CgVariantRow& variant)
      : conjugate_gradient_(parts.matrix, parts.preconditioner, parts.vectors, variant) {}

  [[nodiscard]] StepObservers& observers() override { return conjugate_gradient_.observers(); }
  [[nodiscard]] StepObservers& observers_of(int /*system*/) override { return own_observers_; }
  [[nodiscard]] ConjugateGradient* conjugate_gradient() override { return &conjugate_gradient_; }
  std::vector<SystemSolveResult> solve(const SystemVectors& vectors, const StopRule& stop) override {
    observers().add(own_observers_);
    const auto result = cg2d::solve(conjugate_gradient_, vectors, stop);
    observers().remove(own_observers_);
    return {result};
  }

 private:
  ConjugateGradient conjugate_gradient_;
  StepObservers own_observers_;
};

}  // namespace

std::unique_ptr<SystemSolver> make_system_solver(const CgParts& parts, const CgVariantRow& variant,
                                                 int vector_count) {
  if (vector_count == 1) return std::make_unique<OneSystem>(parts, variant);
  return std::make_unique<SeveralSystems>(parts, vector_count);
}

SeveralSystems::SeveralSystems(const CgParts& parts, int vector_count)
    : matrix_(parts.matrix),
      preconditioner_(parts.preconditioner),
      vectors_(parts.vectors),
      systems_(static_cast<std::size_t>(vector_count)),
      r_(parts.matrix.local_size()),
      kept_direction_(parts.matrix.local_size()) {}

std::vector<SystemSolveResult> SeveralSystems::solve(const SystemVectors& vectors, const StopRule& stop) {
  keeps_best_ = stop.keeps_best();
  if (keeps_best_ && kept_x_.empty()) kept_x_ = HugePageVector(vectors.x.size());
  begin(vectors, stop);
  while (!std::ranges::all_of(systems_, [](const auto& system) { return system.end.has_value(); })) {
    observers_.before_step();
    for (auto& system : systems_) {
      if (!system.end) system.observers.before_step();
    }
    step(vectors.x, stop);
    if (std::ranges::any_of(systems_, &System::begins_again)) replace_residuals(vectors, stop);
  }
  return finish(vectors);
}

void SeveralSystems::begin(const SystemVectors& vectors, const StopRule& stop) {
  if (vectors.starts_from_x) multiply(vectors.x);
  vectors_.update([&](VectorOps& local) {
    local.copy(vectors.b, r_);
    if (vectors.starts_from_x) {
      local.add_scaled(-1.0, matrix_.result(), r_);
    } else {
      local.fill(0.0, vectors.x);
    }
  });
  const auto preconditioned = preconditioner_.apply(r_, vectors_);
  p_ = preconditioner_.uses_products() ? std::span<double>(kept_direction_) : matrix_.operand();
  vectors_.update([&](VectorOps& local) { local.copy(preconditioned, p_); });
  compute_products(preconditioned);
  const auto squares = numbers(alpha_);
  dots(vectors.b, vectors.b, squares);
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    auto& state = systems_[k].state;
    state.direction_square = state.rho;
    state.right_hand_side_square = squares[k];
    state.first_residual_square = state.residual_square;
    state.residual_is_recomputed = true;
    state.begin_progress();
  }
  record_zeros(vectors.b);
  for (auto& system : systems_) system.end = stop.end_of(system.state);
  ask_with_bounds(stop);
}

/// b . b = 0 may be an underflow.
void SeveralSystems::record_zeros(std::span<const double> b) {
  const auto nonzeros = numbers(alpha_);
  std::ranges::fill(nonzeros, 0.0);
  for (std::size_t k = 0; k < b.size(); ++k) nonzeros[k % systems_.size()] += b[k] != 0.0 ? 1.0 : 0.0;
  matrix_.sum_over_ranks(nonzeros);
  for (std::size_t k = 0; k < systems_.size(); ++k)
    systems_[k].state.right_hand_side_is_zero = nonzeros[k] == 0.0;
}

/// A system that has ended takes part with a step of length 0.
void SeveralSystems::step(std::span<double> x, const StopRule& stop) {
  if (preconditioner_.uses_products()) {
    multiply(p_);
  } else {
    matrix_.apply();
  }
  record_curvatures(stop);
  vectors_.update([&](VectorOps& local) {
    local.steps_along(numbers(alpha_), {.p = p_, .q = matrix_.result(), .x = x, .r = r_});
  });
  const auto preconditioned = preconditioner_.apply(r_, vectors_);
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    beta_[k] = systems_[k].state.rho;
    squares_before_[k] = systems_[k].state.residual_square;
  }
  compute_products(preconditioned);
  if (keeps_best_) keep_iterates(x);
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    auto& system = systems_[k];
    if (!system.end) system.state.record_beta(beta_[k]);
    beta_[k] = system.end ? 0.0 : system.state.beta;
  }
  vectors_.update([&](VectorOps& local) { local.scale_and_add_each(preconditioned, numbers(beta_), p_); });
  record_step(stop);
}

void SeveralSystems::record_curvatures(const StopRule& stop) {
  const auto curvatures = numbers(alpha_);
  dots(p_, matrix_.result(), curvatures);
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    auto& system = systems_[k];
    auto& state = system.state;
    if (system.end) continue;
    state.record_curvature(curvatures[k]);
    system.end = stop.end_within_step(state);
  }
  if (std::ranges::any_of(systems_, curvature_is_in_doubt<System>)) bound_curvatures(stop);
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    auto& state = systems_[k].state;
    const bool makes_step = !systems_[k].end && !systems_[k].begins_again;
    // A residual of exactly zero is a solution: further steps change nothing.
    if (makes_step) state.alpha = state.rho == 0.0 ? 0.0 : state.rho / state.curvature;
    alpha_[k] = makes_step ? state.alpha : 0.0;
  }
}

/// Asks again about the systems whose p . A p is in doubt. Where they go on, p and A p are where they were.
void SeveralSystems::bound_curvatures(const StopRule& stop) {
  if (!preconditioner_.uses_products())
    vectors_.update([&](VectorOps& local) { local.copy(p_, kept_direction_); });
  std::array<double, most_systems> bounds{};
  rounding_bounds(
      matrix_, kept_direction_,
      [&](std::span<const double> vectors, std::span<double> values) {
        multiply(vectors);
        dots(vectors, matrix_.result(), values);
      },
      numbers(bounds));
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    auto& system = systems_[k];
    auto& state = system.state;
    if (!curvature_is_in_doubt(system)) continue;
    state.curvature_rounding = bounds[k];
    system.end = stop.end_within_step(state);
    if (!system.end) state.cleared_quotient = state.curvature / state.direction_square;
    system.begins_again = system.end == SolveEnd::stagnated;
    if (system.begins_again) system.end.reset();
  }
  multiply(kept_direction_);
  if (!preconditioner_.uses_products()) p_ = matrix_.operand();
}

/// Asks again about the systems that r . M^-1 r would end, with its rounding bound.
void SeveralSystems::ask_with_bounds(const StopRule& stop) {
  if (std::ranges::none_of(systems_, rho_is_in_doubt<System>)) return;
  std::array<double, most_systems> bounds{};
  rounding_bounds(
      matrix_, r_,
      [&](std::span<const double> vectors, std::span<double> values) {
        dots(vectors, preconditioner_.apply(vectors, vectors_), values);
      },
      numbers(bounds));
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    auto& system = systems_[k];
    if (!rho_is_in_doubt(system)) continue;
    system.state.rho_rounding = bounds[k];
    system.end = stop.end_of(system.state);
  }
}

/// Asks again about the systems that end since they are idle, with the number of steps that the order of A allows.
void SeveralSystems::ask_idle_ones(const StopRule& stop) {
  const auto is_asked = [](const System& system) {
    return system.end == SolveEnd::stagnated && system.state.is_idle() &&
           system.state.most_idle_steps == CgState::first_idle_steps;
  };
  if (std::ranges::none_of(systems_, is_asked)) return;
  const double order = order_of(matrix_, r_.size() / systems_.size());
  for (auto& system : systems_) {
    if (!is_asked(system)) continue;
    system.state.allow_idle_steps(CgState::idle_steps_per_row, order);
    const auto end = stop.end_of(system.state);
    system.end = system.must_stop && !end ? SolveEnd::stopped : end;
  }
}

void SeveralSystems::record_step(const StopRule& stop) {
  for (auto& system : systems_) {
    if (system.end || system.begins_again) continue;
    ++system.state.number;
    system.state.residual_is_recomputed = false;
    system.state.record_progress();
  }
  const bool all_must_stop = tell_of_step();
  for (auto& system : systems_) {
    if (system.end) continue;
    system.must_stop = all_must_stop;
    if (system.begins_again) continue;  // its step was not made
    system.must_stop |= system.observers.after_step(system.state);
    const auto end = stop.end_of(system.state);
    system.begins_again = end == SolveEnd::converged;
    if (!system.begins_again) system.end = system.must_stop && !end ? SolveEnd::stopped : end;
  }
  ask_idle_ones(stop);
  ask_with_bounds(stop);
  for (auto& system : systems_) {
    if (system.end != SolveEnd::stagnated || !system.state.rho_rounding ||
        system.state.residual_is_recomputed)
      continue;
    system.begins_again = true;
    system.end.reset();
  }
}

/// After r . r of a step is known, which x has taken already: x - alpha p is kept for the systems whose residual begins to grow.
void SeveralSystems::keep_iterates(std::span<const double> x) {
  const auto is_kept = [this](std::size_t k) {
    auto& system = systems_[k];
    return !system.end && system.kept.takes(squares_before_[k], system.state);
  };
  if (!take(is_kept)) return;
  vectors_.update(
      [&](VectorOps& local) { local.step_back_where(numbers(taken_), numbers(alpha_), p_, x, kept_x_); });
}

/// Tells the observers of all systems, with the state of the one that is farthest from its solution. Nothing is said
/// of a step within which all have ended. True where they ask to stop.
bool SeveralSystems::tell_of_step() {
  const System* farthest = nullptr;
  const auto quotient = [](const System& system) {
    return system.state.residual_square / system.state.right_hand_side_square;
  };
  for (const auto& system : systems_) {
    if (!system.end && (farthest == nullptr || quotient(system) > quotient(*farthest))) farthest = &system;
  }
  return farthest != nullptr && observers_.after_step(farthest->state);
}

/// Asks the stop rule with the recomputed residuals of the systems that seem to have converged, and begins these
/// again where they are to go on. The others' vectors stay as they are.
void SeveralSystems::replace_residuals(const SystemVectors& vectors, const StopRule& stop) {
  const bool is_in_operand = !preconditioner_.uses_products();
  if (is_in_operand) vectors_.update([&](VectorOps& local) { local.copy(p_, kept_direction_); });
  multiply(vectors.x);
  take_those_that_begin_again();
  vectors_.update(
      [&](VectorOps& local) { local.subtract_where(numbers(taken_), vectors.b, matrix_.result(), r_); });
  compute_residual_squares();
  if (is_in_operand) {
    p_ = matrix_.operand();
    vectors_.update([&](VectorOps& local) { local.copy(kept_direction_, p_); });
  }
  for (auto& system : systems_) {
    if (system.begins_again) judge_replaced(system, stop);
  }
  if (take_those_that_begin_again()) restart(stop);
}

/// A system that goes on still seems converged afterwards.
void SeveralSystems::judge_replaced(System& system, const StopRule& stop) {
  auto& state = system.state;
  system.kept.begin_again(system.recurrence_norm * system.recurrence_norm);
  state.rho = state.residual_square;  // that of the recurrence is not of this r; restart() computes it
  state.begin_progress();
  if (!(system.end = stop.end_of(state)) && state.residual_norm() > system.replaced_norm / 2.0)
    system.end = SolveEnd::stagnated;
  system.begins_again = !system.end;
  if (system.end) return;
  system.replaced_norm = state.residual_norm();
  ++state.replacement_count;
}

void SeveralSystems::restart(const StopRule& stop) {
  const auto preconditioned = preconditioner_.apply(r_, vectors_);
  vectors_.update([&](VectorOps& local) { local.copy_where(numbers(taken_), preconditioned, p_); });
  compute_products(preconditioned);
  for (auto& system : systems_) {
    if (!system.begins_again) continue;
    system.begins_again = false;
    system.state.direction_square = system.state.rho;
    system.end = stop.end_of(system.state);
    if (system.must_stop && !system.end) system.end = SolveEnd::stopped;
  }
  ask_with_bounds(stop);
}

/// The operator's result := A operand
void SeveralSystems::multiply(std::span<const double> operand) {
  const auto place = matrix_.operand();
  vectors_.update([&](VectorOps& local) { local.copy(operand, place); });
  matrix_.apply();
}

/// rho = r . M^-1 r and r . r of the systems that go on; the same without preconditioner.
void SeveralSystems::compute_products(std::span<const double> preconditioned) {
  const bool is_same = preconditioner_.is_identity();
  const auto count = systems_.size();
  const auto sums = std::span(sums_).first(is_same ? count : 2 * count);
  vectors_.sums_into(sums, [&](VectorOps& local) {
    local.dots(r_, preconditioned, sums.first(count));
    if (!is_same) local.dots(r_, r_, sums.last(count));
  });
  for (std::size_t k = 0; k < count; ++k) {
    if (systems_[k].end) continue;
    systems_[k].state.rho = sums[k];
    systems_[k].state.rho_rounding.reset();
    systems_[k].state.residual_square = sums[sums.size() - count + k];
  }
}

/// Takes r . r of the systems that seem to have converged: now r is b - A x.
void SeveralSystems::compute_residual_squares() {
  const auto squares = numbers(alpha_);
  dots(r_, r_, squares);
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    auto& system = systems_[k];
    if (!system.begins_again) continue;
    system.recurrence_norm = system.state.residual_norm();
    system.state.residual_square = squares[k];
    system.state.residual_is_recomputed = true;
  }
}

/// Numbers of a system whose input is finite have left the range of double precision.
void SeveralSystems::judge_overflows(const SystemVectors& vectors) {
  const auto is_not_finite = [](const System& system) { return system.end == SolveEnd::not_finite; };
  if (std::ranges::none_of(systems_, is_not_finite)) return;
  take([this](std::size_t k) { return systems_[k].state.number == 0; });
  const auto counts = numbers(alpha_);
  count_not_finite({matrix_, preconditioner_, vectors_}, {.b = vectors.b, .x = vectors.x}, numbers(taken_),
                   counts);
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    if (is_not_finite(systems_[k]) && counts[k] == 0.0) systems_[k].end = SolveEnd::stagnated;
  }
}

std::vector<SystemSolveResult> SeveralSystems::finish(const SystemVectors& vectors) {
  judge_overflows(vectors);
  std::vector<SystemSolveResult> results;
  // Systems without a right-hand side: their b is what x is to be.
  take([this](std::size_t k) { return systems_[k].end == SolveEnd::zero_right_hand_side; });
  vectors_.outside_of_phases().copy_where(numbers(taken_), vectors.b, vectors.x);
  for (auto& system : systems_) {
    if (system.end == SolveEnd::zero_right_hand_side) system.state.residual_square = 0.0;
    if (!system.state.residual_is_recomputed) system.recurrence_norm = system.state.residual_norm();
    results.push_back(system_result_of({.end = *system.end,
                                        .last = system.state,
                                        .recurrence_residual_norm = system.recurrence_norm,
                                        .has_preconditioner = !preconditioner_.is_identity()}));
  }
  recompute_missing(vectors, results);
  take_kept(vectors, results);
  return results;
}

/// r := b - A x, squares := r . r
void SeveralSystems::compute_residual(std::span<const double> b, std::span<const double> x,
                                      std::span<double> squares) {
  multiply(x);
  vectors_.update([&](VectorOps& local) {
    local.copy(b, r_);
    local.add_scaled(-1.0, matrix_.result(), r_);
  });
  dots(r_, r_, squares);
}

void SeveralSystems::recompute_missing(const SystemVectors& vectors, std::span<SystemSolveResult> results) {
  const auto is_missing = [](const auto& system) { return !system.state.residual_is_recomputed; };
  if (std::ranges::none_of(systems_, is_missing)) return;
  const auto squares = numbers(alpha_);
  compute_residual(vectors.b, vectors.x, squares);
  for (std::size_t k = 0; k < systems_.size(); ++k) {
    if (!is_missing(systems_[k])) continue;
    results[k].last_residual_norm = std::sqrt(squares[k]);
    results[k].true_residual_norm = results[k].last_residual_norm;
  }
}

/// As ConjugateGradient::take_kept().
void SeveralSystems::take_kept(const SystemVectors& vectors, std::span<SystemSolveResult> results) {
  if (!take([&](std::size_t k) { return systems_[k].kept.seems_better(results[k]); })) return;
  const auto squares = numbers(alpha_);
  compute_residual(vectors.b, kept_x_, squares);
  take([&](std::size_t k) {
    return taken_[k] != 0.0 && systems_[k].kept.replaces_last(std::sqrt(squares[k]), results[k]);
  });
  vectors_.outside_of_phases().copy_where(numbers(taken_), kept_x_, vectors.x);
}

}  // namespace cg2d
