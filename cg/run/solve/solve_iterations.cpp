#include "cg/run/solve/solve_iterations.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "cg/matrix/value_hash.hpp"
#include "cg/run/checkpoint/checkpoint_feature.hpp"

namespace cg2d {
namespace {

Solution solution_of(const SystemSolveResult& result, const SystemObservers& observers,
                     const Tolerance& tolerance) {
  const double target_norm = tolerance.residual_norm_for(result.right_hand_side_norm);
  const auto spectrum = observers.estimates.estimate();
  auto estimated = result;
  estimated.condition_number = spectrum.condition_number();
  return {.result = estimated,
          .target_norm = target_norm,
          .history = observers.history.norms(),
          .spectrum = spectrum,
          .predicted_steps = spectrum.predicted_steps(target_norm / result.right_hand_side_norm)};
}

}  // namespace

SolveIterations::SolveIterations(const SolveParts& parts, const IteratedSystem& iterated,
                                 RegionMeasurement& measurement)
    : parts_(parts),
      system_(iterated.system),
      solver_(iterated.solver),
      preconditioner_(iterated.preconditioner),
      b_(iterated.b),
      x_(iterated.x),
      measurement_(measurement),
      tolerance_({.relative = parts.options.relative_tolerance,
                  .absolute = parts.options.absolute_tolerance,
                  .most_steps = parts.options.most_iterations}),
      outside_([this](const auto& work) { measurement_.outside_of_phases(work); }),
      says_progress_(parts.progress, tolerance_, outside_),
      checkpointed_(checkpointed_system()),
      interrupts_(watch_, parts.group, outside_) {
  observe_systems();
  auto* const checkpoints = checkpoints_of(parts_.session.features());
  if (checkpoints != nullptr && checkpoints->found() != nullptr) restart(*checkpoints->found());
  if (checkpoints != nullptr && checkpoints->are_saved()) {
    const CheckpointWork work{.system = checkpointed_,
                              .solver = solver_,
                              .x = x_,
                              .interrupts = interrupts_,
                              .outside = outside_,
                              .checkpoints = *checkpoints,
                              .most_iterations = parts_.options.most_iterations};
    checkpoints_.emplace(work, parts_.report.restart ? &*parts_.report.restart : nullptr);
  }
}

void SolveIterations::restart(FoundCheckpoint found) {
  auto& restart = parts_.report.restart.emplace(solve_restart(std::move(found), checkpointed_));
  restarted_ = restarted_state(restart, checkpointed_.range, parts_.group);
  x_ = restarted_.x;
  snapshot_ = restarted_.snapshot();
  restart.replay(observers_.front().history);
  restart.replay(observers_.front().estimates);
}

/// The observers do not move as long as the solver works.
void SolveIterations::observe_systems() {
  const bool speaks = parts_.options.monitors && parts_.group.rank() == 0;
  for (int number = 0; number < parts_.report.right_hand_side_count; ++number) {
    const auto name = parts_.has_several() ? fmt::format("right-hand side {}, ", number + 1) : std::string();
    observers_.emplace_back(parts_.options.most_iterations, speaks, name, outside_)
        .add_to(solver_.observers_of(number));
  }
}

CheckpointedSystem SolveIterations::checkpointed_system() const {
  if (checkpoints_of(parts_.session.features()) == nullptr) return {};
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < b_.size(); ++k)
    sum += hash_of_element(system_.first_row + static_cast<std::int64_t>(k), b_[k]);
  const auto hash_of_b = sum_of_words(parts_.group, sum);
  const auto numbering =
      permutation_seed_of(parts_.options) ? parts_.options.configuration.cut : std::string("original");
  CheckpointedSystem checkpointed;
  checkpointed.order = system_.place.size;
  checkpointed.range = {system_.first_row,
                        system_.first_row + static_cast<std::int64_t>(system_.place.local_size)};
  checkpointed.text = fmt::format("one of {} ({} rows), --rhs {}, --preconditioner {}",
                                  parts_.report.matrix->name, checkpointed.order,
                                  vector_text(parts_.options.right_hand_side), parts_.options.preconditioner);
  checkpointed.hash =
      hash_of_text(fmt::format("solve {} {} {} {} {} {}", checkpointed.order, system_.value_hash, hash_of_b,
                               numbering, parts_.options.variant, parts_.options.preconditioner));
  return checkpointed;
}

std::vector<SystemSolveResult> SolveIterations::solve() {
  const bool starts_from_x = parts_.options.initial_guess.kind != VectorOption::Kind::zeros;
  const SystemVectors given{
      .b = b_, .x = x_, .starts_from_x = starts_from_x, .snapshot = snapshot_ ? &*snapshot_ : nullptr};
  if (system_.guard == nullptr) return solver_.solve(given, tolerance_);
  auto& guard = *system_.guard;
  const Stopwatch stopwatch;
  const auto result = guard.solve({.solver = solver_,
                                   .inverse_diagonal = preconditioner_.inverse_diagonal(),
                                   .most_iterations = parts_.options.most_iterations},
                                  given, tolerance_);
  parts_.report.features.set(guard.report(stopwatch.seconds()));
  if (!result) throw RunError(ExitCode::soft_error, guard.reason());
  return {*result};
}

std::vector<Solution> SolveIterations::perform() {
  parts_.progress.say("solving");
  StepObserver& last = checkpoints_ ? static_cast<StepObserver&>(*checkpoints_) : interrupts_;
  const std::array<StepObserver*, 2> common_observers{&says_progress_, &last};
  std::vector<SystemSolveResult> results;
  {
    const Progress::TimedRegion region(parts_.progress);
    measurement_.around_solve(common_observers, [&] { results = solve(); });
  }
  parts_.session.features().call(&Feature::check_region);
  parts_.report.repeat = parts_.session.measured_repeat(measurement_);
  parts_.report.quiet = parts_.report.repeat.quiet;
  std::vector<Solution> solutions;
  for (std::size_t k = 0; k < observers_.size(); ++k)
    solutions.push_back(solution_of(results[k], observers_[k], tolerance_));
  for (auto& solution : solutions) solution.preconditioner_remark = preconditioner_.remark();
  return solutions;
}

}  // namespace cg2d
