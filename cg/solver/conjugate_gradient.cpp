#include "cg/solver/conjugate_gradient.hpp"

namespace cg2d {
namespace {

/// The quantity that ended the solve, in the order in which a step computes them.
void name_quantity(SystemSolveResult& result, const CgState& last) {
  const auto note = [&](std::string_view name, double value, int step,
                        const std::optional<double>& rounding = std::nullopt) {
    result.quantity = name;
    result.quantity_value = value;
    result.quantity_rounding = rounding.value_or(0.0);
    result.quantity_step = step;
  };
  const bool underflows = last.right_hand_side_square < Tolerance::least_square;
  // Where they are not finite, though the input is, they have left the range of double precision.
  if (result.end == SolveEnd::stagnated && !underflows && !last.is_not_finite()) {
    if (last.direction_is_null())
      return note("p . A p", last.curvature, last.number + 1, last.curvature_rounding);
    if (last.is_idle()) note("r . r", last.least_residual_square, last.least_residual_step);
    return;
  }
  const auto is_wrong = [&](double value) {
    return result.end == SolveEnd::not_positive_definite ? value <= 0.0 : !std::isfinite(value);
  };
  if (underflows || is_wrong(last.right_hand_side_square))
    return note("b . b", last.right_hand_side_square, 0);
  // x0, A or M is not finite before the first step, or A in the step that did not come to its end.
  if (is_wrong(last.residual_square)) return note("r . r", last.residual_square, last.number);
  if (is_wrong(last.rho)) return note("r . M^-1 r", last.rho, last.number, last.rho_rounding);
  note("p . A p", last.curvature, last.number + 1, last.curvature_rounding);
}

/// For each system the elements of b, of A 0 and of M^-1 0 that are NaN or infinite, and those of x where it is still the initial guess. A 0 has
/// NaN where A has NaN or infinity: where there are none, numbers of a solve that are not finite have left the range of double precision.
/// Collective. Cost: one product, one application of M^-1, one vector, one sum; set aside from those of steps.
PerSystem counts_not_finite(const CgParts& parts, const LinearSystem& pieces,
                            std::span<const CgSystem> systems) {
  PerSystem counts(systems.size());
  const auto count = [&](ConstPiece vectors, bool is_changed_by_steps = false) {
    for (size_t k = 0; k < vectors.size(); ++k) {
      const auto number = k % systems.size();
      if (is_changed_by_steps && systems[number].state.number > 0) continue;
      if (!std::isfinite(vectors[k])) ++counts[number];
    }
  };
  count(pieces.b);
  count(pieces.x, true);
  parts.matrix.set_aside(true);
  std::ranges::fill(parts.matrix.operand(), 0.0);
  parts.vectors.multiply();
  count(parts.matrix.result());
  const HugePageVector zeros(pieces.b.size());
  count(parts.preconditioner.apply(zeros, parts.vectors));
  parts.matrix.sum_over_ranks(counts.all());
  parts.matrix.set_aside(false);
  return counts;
}

bool lacks_residual(const CgSystem& system) { return !system.state.residual_is_recomputed; }

}  // namespace

ConjugateGradient::ConjugateGradient(LinearOperator& matrix, Preconditioner& preconditioner,
                                     DistributedVectors& vectors, const CgVariantRow& variant,
                                     int system_count)
    : parts_{.matrix = matrix, .preconditioner = preconditioner, .vectors = vectors},
      variant_(variant),
      systems_(static_cast<size_t>(system_count)),
      own_observers_(systems_.size()) {
  lay_out();
}

void ConjugateGradient::lay_out() {
  recurrence_.reset();
  recurrence_ = variant_.make(parts_);
  kept_x_ = {};
}

std::vector<SystemSolveResult> ConjugateGradient::solve(const SystemVectors& vectors, const StopRule& stop) {
  const bool recomputes = std::ranges::any_of(iterate(vectors, stop), lacks_residual);
  const auto recomputed = recomputes ? residual_norms(vectors.b, vectors.x) : PerSystem(systems_.size());
  std::vector<SystemSolveResult> results;
  for (size_t k = 0; k < systems_.size(); ++k) {
    const auto& system = systems_[k];
    const auto& last = system.state;
    const double norm = lacks_residual(system) ? recomputed[k] : last.residual_norm();
    auto& result = results.emplace_back(SystemSolveResult{
        .end = *system.end,
        .step_count = last.number,
        .right_hand_side_norm = last.right_hand_side_norm(),
        .first_residual_norm = last.first_residual_norm(),
        .residual_norm = system.recurrence_norm,
        .true_residual_norm = norm,
        .solution_step = last.number,
        .last_residual_norm = norm,
        .replacement_count = last.replacement_count,
        .classic_step_count = steps_before_classic_ ? last.number - *steps_before_classic_ : 0,
        .has_preconditioner = !parts_.preconditioner.is_identity()});
    if (has_failed(result.end) && result.end != SolveEnd::step_limit) name_quantity(result, last);
  }
  take_kept(results);
  return results;
}

std::span<const CgSystem> ConjugateGradient::iterate(const SystemVectors& vectors, const StopRule& stop) {
  stop_ = &stop;
  if (std::exchange(steps_before_classic_, std::nullopt)) lay_out();  // in its own form again
  if (stop.keeps_best() && kept_x_.size() != vectors.x.size()) kept_x_ = HugePageVector(vectors.x.size());
  pieces_ = {.b = vectors.b, .x = vectors.x, .keeps_best = stop.keeps_best(), .kept_x = kept_x_};
  if (vectors.snapshot != nullptr) {
    resume(*vectors.snapshot);
  } else {
    begin(vectors.starts_from_x);
  }
  while (std::ranges::any_of(systems_, &CgSystem::goes_on)) step();
  finish();
  return systems_;
}

void ConjugateGradient::begin(bool starts_from_x) {
  std::ranges::fill(systems_, CgSystem{.begins_again = true});
  if (starts_from_x) {
    recurrence_->recompute_residual(pieces_.b, pieces_.x);
  } else {
    const auto local = parts_.vectors.updates();
    local->fill(0.0, pieces_.x);
    local->copy(pieces_.b, recurrence_->residual());
  }
  recurrence_->begin(systems_);
  PerSystem squares(systems_, [](const CgSystem& one) { return one.state.residual_square; });
  if (starts_from_x) parts_.vectors.dots(pieces_.b, pieces_.b, squares.all());
  for (size_t k = 0; k < systems_.size(); ++k) {
    auto& state = systems_[k].state;
    state.right_hand_side_square = squares[k];
    state.first_residual_square = state.residual_square;
    state.residual_is_recomputed = true;
    state.begin_progress();
    systems_[k].recurrence_norm = state.residual_norm();
    systems_[k].begins_again = false;
  }
  record_zeros();
  ask();
}

/// From the place where an observer saw the snapshot.
void ConjugateGradient::resume(const CgSnapshot& snapshot) {
  auto& system = systems_.front();
  // That of steps that are made again, or of another solve, is not of this one.
  const bool goes_on_with_kept = pieces_.keeps_best && system.kept.step <= snapshot.state.number;
  system = {.state = snapshot.state,
            .replaced_norm = snapshot.replaced_norm,
            .kept = goes_on_with_kept ? system.kept : KeptResidual{}};
  std::ranges::copy(snapshot.residual, recurrence_->residual().begin());
  recurrence_->resume(snapshot.direction);
  if (system.state.least_residual_square == 0.0) system.state.begin_progress();  // checkpoints do not have it
  judge_step();
}

/// b . b = 0 may be an underflow.
void ConjugateGradient::record_zeros() {
  const auto has_zero = [](const CgSystem& one) { return one.state.right_hand_side_square == 0.0; };
  if (std::ranges::none_of(systems_, has_zero)) return;
  PerSystem nonzeros(systems_.size());
  for (size_t k = 0; k < pieces_.b.size(); ++k)
    nonzeros[k % systems_.size()] += pieces_.b[k] != 0.0 ? 1.0 : 0.0;
  parts_.matrix.sum_over_ranks(nonzeros.all());
  for (size_t k = 0; k < systems_.size(); ++k) systems_[k].state.right_hand_side_is_zero = nonzeros[k] == 0.0;
}

void ConjugateGradient::step() {
  observers_.before_step();
  for (size_t k = 0; k < systems_.size(); ++k) {
    if (systems_[k].goes_on()) own_observers_[k].before_step();
  }
  recurrence_->step(systems_, pieces_, *stop_);
  for (auto& system : systems_) {
    if (system.ends_as(SolveEnd::stagnated)) system.begin_again();
    if (!system.goes_on()) continue;
    ++system.state.number;
    system.state.residual_is_recomputed = false;
    system.state.record_progress();
  }
  for (size_t k = 0; k < systems_.size(); ++k)
    systems_[k].must_stop = systems_[k].goes_on() && own_observers_[k].after_step(systems_[k].state);
  const bool all_must_stop = tell_of_step();
  judge_step();
  for (auto& system : systems_) {
    if ((system.must_stop || all_must_stop) && !system.end) system.end = SolveEnd::stopped;
  }
}

/// Tells the observers of all systems, with the state of the one that is farthest from its solution. Nothing is said
/// of a step that none has made. True where they ask to stop.
bool ConjugateGradient::tell_of_step() {
  const CgSystem* farthest = nullptr;
  const auto quotient = [](const CgSystem& system) {
    return system.state.residual_square / system.state.right_hand_side_square;
  };
  for (const auto& system : systems_) {
    if (!system.end && (farthest == nullptr || quotient(system) > quotient(*farthest))) farthest = &system;
  }
  const bool is_made = std::ranges::any_of(systems_, &CgSystem::goes_on);
  return is_made && observers_.after_step(farthest->state);
}

void ConjugateGradient::judge_step() {
  ask();
  for (auto& system : systems_) {
    const auto is_spoiled = [&] {
      return system.state.rho_rounding || (may_take_classic_form() && system.state.is_idle());
    };
    if (system.ends_as(SolveEnd::converged) || (system.ends_as(SolveEnd::stagnated) && is_spoiled()))
      system.begin_again();
  }
  if (std::ranges::any_of(systems_, &CgSystem::begins_again)) replace_residuals();
}

/// Asks the stop rule about the systems that go on; about those that are idle once more, with the number of steps that the order of A allows;
/// where r . M^-1 r ends the solve, once more with its rounding bound. By a recurrence it is computed anew first: where that is positive,
/// rounding has spoiled the recurrence.
void ConjugateGradient::ask() {
  for (auto& system : systems_) {
    system.is_asked = system.goes_on();
    if (!system.is_asked) continue;
    system.state.rho_rounding.reset();
    system.end = stop_->end_of(system.state);
  }
  const auto is_idle = [](const CgSystem& one) {
    return one.ends_as(SolveEnd::stagnated) && one.state.most_idle_steps == CgState::first_idle_steps;
  };
  if (std::ranges::any_of(systems_, is_idle)) {
    const double per_row =
        may_take_classic_form() ? CgState::idle_steps_per_row_with_one_sum : CgState::idle_steps_per_row;
    const double order = order_of(parts_.matrix, pieces_.b.size() / systems_.size());
    for (auto& system : systems_) {
      if (!is_idle(system)) continue;
      system.state.most_idle_steps = CgState::first_idle_steps + per_row * order;
      system.end = stop_->end_of(system.state);
    }
  }
  if (std::ranges::none_of(systems_, &CgSystem::is_doubted)) return;
  recurrence_->recompute_rho(systems_);
  for (auto& system : systems_) {
    if (system.is_doubted()) system.end = stop_->end_of(system.state).value_or(SolveEnd::stagnated);
  }
}

/// Asks the stop rule with the recomputed residuals, and begins again from them where the solve continues.
void ConjugateGradient::replace_residuals() {
  recurrence_->recompute_residuals(systems_, pieces_);
  PerSystem squares(systems_.size());
  const auto r = recurrence_->residual();
  parts_.vectors.dots(r, r, squares.all());
  for (size_t k = 0; k < systems_.size(); ++k) {
    if (systems_[k].begins_again) judge_replaced(systems_[k], squares[k]);
  }
  if (std::ranges::none_of(systems_, &CgSystem::begins_again)) return;
  recurrence_->begin(systems_);
  for (auto& system : systems_) system.begins_again = false;
  ask();
}

/// A solve continues so long as each time at least halves the recomputed residual. Where it does not, the roundings of a form with fewer sums
/// may be why (those of the pipelined one grow most), and the classic form goes on.
void ConjugateGradient::judge_replaced(CgSystem& system, double square) {
  auto& state = system.state;
  const bool was_idle = may_take_classic_form() && state.is_idle();
  if (lacks_residual(system)) system.recurrence_norm = state.residual_norm();
  // An iterate that is better by the recurrence takes the place of the kept one.
  if (state.residual_square <= system.kept.square) system.kept = {};
  state.residual_square = square;
  state.rho = square;  // that of the recurrence is not of this r; begin() computes it
  state.residual_is_recomputed = true;
  state.begin_progress();
  system.end = stop_->end_of(state);
  const bool is_no_better = was_idle || state.residual_norm() > system.replaced_norm / 2.0;
  if (!system.end && is_no_better && !take_classic_form()) system.end = SolveEnd::stagnated;
  system.begins_again = !system.end;
  if (system.end) return;
  system.replaced_norm = state.residual_norm();
  ++state.replacement_count;
}

bool ConjugateGradient::may_take_classic_form() const {
  return !steps_before_classic_ && variant_.name != cg_variant_table().front().name;
}

/// The recurrence becomes that of the classic form, with the same residual. False where it is already.
bool ConjugateGradient::take_classic_form() {
  if (!may_take_classic_form()) return false;
  auto& state = systems_.front().state;
  steps_before_classic_ = state.number;
  state.most_idle_steps = CgState::first_idle_steps;
  auto classic = cg_variant_table().front().make(parts_);
  parts_.vectors.updates()->copy(recurrence_->residual(), classic->residual());
  recurrence_ = std::move(classic);
  return true;
}

void ConjugateGradient::finish() {
  const auto is_not_finite = [](const CgSystem& one) { return one.end == SolveEnd::not_finite; };
  if (std::ranges::any_of(systems_, is_not_finite)) {
    const auto counts = counts_not_finite(parts_, pieces_, systems_);
    // Numbers of a system whose input is finite have left the range of double precision.
    for (size_t k = 0; k < systems_.size(); ++k) {
      if (is_not_finite(systems_[k]) && counts[k] == 0.0) systems_[k].end = SolveEnd::stagnated;
    }
  }
  const auto is_zero = [](const CgSystem& one) { return one.end == SolveEnd::zero_right_hand_side; };
  const PerSystem are_zero(systems_, is_zero);
  if (are_zero.has_any())
    parts_.vectors.outside_of_phases().subtract_where(are_zero.all(), pieces_.b, pieces_.b, pieces_.x);
  for (auto& system : systems_) {
    if (is_zero(system)) system.state.residual_square = system.recurrence_norm = 0.0;
    if (lacks_residual(system)) system.recurrence_norm = system.state.residual_norm();
  }
}

CgSnapshot ConjugateGradient::snapshot(const CgState& state) const {
  return {.state = state,
          .replaced_norm = systems_.front().replaced_norm,
          .residual = recurrence_->residual(),
          .direction = recurrence_->direction()};
}

PerSystem ConjugateGradient::residual_norms(ConstPiece b, ConstPiece x) {
  recurrence_->recompute_residual(b, x);
  const auto r = recurrence_->residual();
  PerSystem norms(systems_.size());
  parts_.vectors.dots(r, r, norms.all());
  for (double& norm : norms.all()) norm = std::sqrt(norm);
  return norms;
}

void ConjugateGradient::take_kept(std::span<SystemSolveResult> results) {
  PerSystem are_taken(systems_.size());
  for (size_t k = 0; k < results.size(); ++k) {
    const double square = systems_[k].kept.square;
    const bool seems_better = has_failed(results[k].end) && std::isfinite(square) &&
                              !(results[k].last_residual_norm <= std::sqrt(square));
    are_taken[k] = seems_better ? 1.0 : 0.0;
  }
  if (std::ranges::none_of(results, [](const auto& one) { return has_failed(one.end); })) return;
  // The ranks agree: what they keep follows from numbers of which a fault may change those of one rank.
  parts_.matrix.set_aside(true);
  const double taking = parts_.matrix.sum_of_ranks(are_taken.has_any() ? 1.0 : 0.0);
  parts_.matrix.set_aside(false);
  if (taking == 0.0) return;
  const auto norms = residual_norms(pieces_.b, kept_x_);
  for (size_t k = 0; k < results.size(); ++k) {
    if (!std::isfinite(norms[k]) || results[k].last_residual_norm <= norms[k]) are_taken[k] = 0.0;
    if (are_taken[k] == 0.0) continue;
    results[k].true_residual_norm = norms[k];
    results[k].solution_step = systems_[k].kept.step;
  }
  parts_.vectors.outside_of_phases().copy_where(are_taken.all(), kept_x_, pieces_.x);
}

}  // namespace cg2d
