// The iterations of a solve, with all that watches them.

#include <fmt/format.h>

#include <array>
#include <utility>

#include "cg/base/sample.hpp"
#include "cg/matrix/value_hash.hpp"
#include "cg/run/solve/solve_run.hpp"

namespace cg2d {

/// The state to go on from is found, and a checkpoint rehearsed.
void SolveRun::begin() {
  auto& watchers = watchers_.emplace(progress_, group_, tolerance_, outside_);
  checkpointed_ = checkpointed_system();
  const bool speaks = options_.monitors && group_.rank() == 0;
  for (int number = 0; number < report_.right_hand_side_count; ++number) {
    const auto name = has_several() ? fmt::format("right-hand side {}, ", number + 1) : std::string();
    watchers.systems.emplace_back(options_.most_iterations, speaks, name, outside_)
        .add_to(solver_->observers_of(number));
  }
  if (const auto* const found = found_checkpoint()) restart(*found);
  if (auto* const saved = saved_checkpoints()) {
    const CheckpointWork work{.system = checkpointed_,
                              .solver = *solver_,
                              .x = x_,
                              .interrupts = watchers.interrupts,
                              .outside = outside_,
                              .checkpoints = *saved,
                              .most_iterations = options_.most_iterations};
    watchers.checkpoints.emplace(work, report_.restart ? &*report_.restart : nullptr);
  }
}

void SolveRun::restart(FoundCheckpoint found) {
  auto& restart = report_.restart.emplace(solve_restart(std::move(found), checkpointed_));
  restarted_ = restarted_state(restart, checkpointed_.range, group_);
  x_ = restarted_.x;
  snapshot_ = restarted_.snapshot();
  auto& system = watchers_->systems.front();
  restart.replay(system.history);
  restart.replay(system.estimates);
}

CheckpointedSystem SolveRun::checkpointed_system() const {
  if (!checkpoints_) return {};
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < b_.size(); ++k)
    sum += hash_of_element(system_->first_row + static_cast<std::int64_t>(k), b_[k]);
  const auto hash_of_b = sum_of_words(group_, sum);
  const auto numbering = permutation_seed_of(options_) ? options_.configuration.cut : std::string("original");
  const auto& place = system_->place;
  return {.hash = hash_of_text(fmt::format("solve {} {} {} {} {} {}", place.size, value_hash_, hash_of_b,
                                           numbering, options_.variant, options_.preconditioner)),
          .order = place.size,
          .range = {system_->first_row, system_->first_row + static_cast<std::int64_t>(place.local_size)},
          .text = fmt::format("one of {} ({} rows), --rhs {}, --preconditioner {}", report_.matrix->name,
                              place.size, options_.right_hand_side.text, options_.preconditioner)};
}

std::vector<SystemSolveResult> SolveRun::solve() {
  const bool starts_from_x = options_.initial_guess.kind != VectorOption::Kind::zeros;
  const SystemVectors given{
      .b = b_, .x = x_, .starts_from_x = starts_from_x, .snapshot = snapshot_ ? &*snapshot_ : nullptr};
  if (!guard_) return solver_->solve(given, tolerance_);
  const Stopwatch stopwatch;
  const auto result = guard_->solve({.solver = *solver_,
                                     .inverse_diagonal = preconditioner_->inverse_diagonal(),
                                     .most_iterations = options_.most_iterations},
                                    given, tolerance_);
  report_.features.set(guard_->report(stopwatch.seconds()));
  if (!result) throw RunError(ExitCode::soft_error, guard_->reason());
  return {*result};
}

/// One for each right-hand side.
std::vector<Solution> SolveRun::measured_solutions() {
  progress_.say("solving");
  auto& watchers = *watchers_;
  StepObserver& last =
      watchers.checkpoints ? static_cast<StepObserver&>(*watchers.checkpoints) : watchers.interrupts;
  const std::array<StepObserver*, 2> common_observers{&watchers.says_progress, &last};
  std::vector<SystemSolveResult> results;
  {
    const Progress::TimedRegion region(progress_);
    measurement().around_solve(common_observers, [&] { results = solve(); });
  }
  if (streaming_) streaming_->check_region();
  report_.repeat = measurement().repeat();
  report_.quiet = report_.repeat.quiet;
  std::vector<Solution> solutions;
  for (std::size_t k = 0; k < watchers.systems.size(); ++k) {
    const auto& observers = watchers.systems[k];
    const double target_norm = tolerance_.residual_norm_for(results[k].right_hand_side_norm);
    solutions.push_back(solution_of(results[k], observers.history, observers.estimates, target_norm,
                                    preconditioner_->remark()));
  }
  return solutions;
}

}  // namespace cg2d
