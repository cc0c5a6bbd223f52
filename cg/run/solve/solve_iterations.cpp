// The iterations of a solve: vectors, preconditioner, CG with its observers and clocks.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cg/matrix/files/vector_file.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/matrix/value_hash.hpp"
#include "cg/run/checkpoint/checkpoint_feature.hpp"
#include "cg/run/solve/solve_observers.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/solver/several_systems.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {
namespace {

/// Counts the phases of calls.
class PhaseCount final : public PhaseObserver {
 public:
  void after_phase(Phase /*phase*/, std::uint64_t /*begin*/, std::uint64_t /*end*/) override { ++count_; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::size_t count_ = 0;
};

/// Phases of one product, which is made for it. Collective.
std::size_t phases_of_product(const ReadySystem& system) {
  PhaseCount count;
  system.timer.attach(count);
  std::ranges::fill(system.matrix.operand(), 0.0);
  system.matrix.apply();
  system.timer.detach(count);
  return count.count();
}

MeasuredSolver measured_parts(const ReadySystem& system, SystemSolver& solver,
                              const DistributedVectors& vectors) {
  return {.timer = system.timer,
          .observers = solver.observers(),
          .sent = system.sent,
          .dot_work = [&] { return vectors.dot_work(); },
          .update_work = [&] { return vectors.update_work(); }};
}

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

HugePageVector SolveRun::make_vector(const VectorOption& option, const VectorPlace& place) {
  if (option.kind == VectorOption::Kind::file) return read_vector(option.path, place, group_);
  if (option.kind == VectorOption::Kind::random) return random_vector(option.seed, place);
  HugePageVector vector(place.local_size);
  if (option.kind == VectorOption::Kind::ones) std::ranges::fill(vector, 1.0);
  return vector;
}

std::unique_ptr<Preconditioner> SolveRun::make_preconditioner(const ReadySystem& system) {
  const Stopwatch making;
  expand_diagonal();
  auto preconditioner = find_preconditioner(options_.preconditioner)
                            ->make({.matrix = system.matrix,
                                    .diagonal = diagonal_,
                                    .diagonal_block = &diagonal_block_,
                                    .first_row = system.first_row,
                                    .thread_count = configuration().thread_count});
  diagonal_block_ = {};  // its factors are made
  report_.matrix->preconditioner_s += group_.maximum(making.seconds());
  return preconditioner;
}

void SolveRun::solve(const ReadySystem& system, OutputFile* solution_file) {
  const auto place = place_of_several(system.place, report_.right_hand_side_count);
  const auto b = make_vectors(options_.right_hand_side, place);
  auto x = make_vectors(options_.first_guess, place);
  const CycleCalibration calibration;
  DistributedVectors vectors(system.matrix, system.timer, configuration().thread_count);
  const auto preconditioner = make_preconditioner(system);
  const auto solver = make_system_solver({system.matrix, *preconditioner, vectors},
                                         *find_cg_variant(options_.variant), vector_count());
  const Tolerance tolerance({.relative = options_.relative_tolerance,
                             .absolute = options_.absolute_tolerance,
                             .most_steps = options_.most_iterations});
  auto parts = measured_parts(system, *solver, vectors);
  RegionMeasurement measurement(parts, group_);
  const OutsideOfPhases outside = [&](const auto& work) { measurement.outside_of_phases(work); };
  auto observers = observe_systems(*solver, outside);
  SolveProgress says_progress(progress_, tolerance, outside);
  const auto checkpointed = checkpointed_system(system, b);
  RestartedVectors restarted;
  CgSnapshot snapshot;
  if (const auto* const found = found_checkpoint(session_.features())) {
    report_.restart = solve_restart(*found, checkpointed);
    restarted = restarted_vectors(*report_.restart, checkpointed.range, group_);
    x = restarted.x;
    snapshot = {.state = report_.restart->state,
                .replaced_norm = report_.restart->replaced_norm,
                .residual = restarted.residual,
                .direction = restarted.direction};
    report_.restart->replay(observers.front().history);
    report_.restart->replay(observers.front().estimates);
  }
  StepInterrupts interrupts(watch_.emplace(), group_, outside);
  std::optional<SolveCheckpoints> checkpoints;
  if (auto* const saver = checkpoint_saver(session_.features())) {
    const CheckpointWork work{.interrupts = interrupts, .outside = outside, .saver = *saver};
    checkpoints.emplace(checkpointed, *solver->conjugate_gradient(), x, work);
    checkpoints->prepare(report_.restart ? &*report_.restart : nullptr);
  }
  StepObserver& last = checkpoints ? static_cast<StepObserver&>(*checkpoints) : interrupts;
  const std::array<StepObserver*, 2> common_observers{&says_progress, &last};

  std::vector<SystemSolveResult> results;
  {
    const AttachedFeatures attached(session_.features(), measured_work(parts, measurement, system));
    progress_.say("solving");
    const Progress::TimedRegion region(progress_);
    measurement.around_solve(common_observers, [&] {
      const bool starts_from_x = options_.first_guess.kind != VectorOption::Kind::zeros;
      const SystemVectors given{
          .b = b, .x = x, .starts_from_x = starts_from_x, .snapshot = report_.restart ? &snapshot : nullptr};
      if (guard_ != nullptr) {
        solver->observers().add(solver->observers_of(0));
        results = {
            guard_->solve_guarded({.solver = *solver->conjugate_gradient(),
                                   .inverse_diagonal = preconditioner->inverse_diagonal(),
                                   .most_iterations = options_.most_iterations,
                                   .goes_back = [&](int count) { observers.front().go_back_to(count); }},
                                  given, tolerance)};
      } else {
        results = solver->solve(given, tolerance);
      }
    });
  }
  session_.features().call(&Feature::check_region);
  report_.repeat = session_.measured_repeat(measurement);
  report_.quiet = report_.repeat.quiet;
  std::vector<Solution> solutions;
  for (std::size_t k = 0; k < observers.size(); ++k)
    solutions.push_back(solution_of(results[k], observers[k], tolerance));
  for (auto& solution : solutions) solution.preconditioner_remark = preconditioner->remark();
  take_solutions(std::move(solutions));
  if (results.front().end == SolveEnd::stopped) report_.reason += session_.features().last_words();
  session_.gather_results(system.timer, calibration.ticks_per_second(), &report_.repeat);
  if (!options_.solution_path.empty()) write_solution(x, place, solution_file);
}

CheckpointedSystem SolveRun::checkpointed_system(const ReadySystem& system, std::span<const double> b) {
  if (session_.features().find<CheckpointFeature>() == nullptr) return {};
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < b.size(); ++k)
    sum += hash_of_element(system.first_row + static_cast<std::int64_t>(k), b[k]);
  const auto hash_of_b = sum_of_words(group_, sum);
  const auto numbering = options_.cut == MatrixCut::random ? cut_text(options_) : std::string("original");
  CheckpointedSystem checkpointed;
  checkpointed.order = system.place.size;
  checkpointed.range = {system.first_row,
                        system.first_row + static_cast<std::int64_t>(system.place.local_size)};
  checkpointed.text =
      fmt::format("one of {} ({} rows), --rhs {}, --preconditioner {}", report_.matrix->name,
                  checkpointed.order, vector_text(options_.right_hand_side), options_.preconditioner);
  checkpointed.hash =
      hash_of_text(fmt::format("solve {} {} {} {} {} {}", checkpointed.order, value_hash_, hash_of_b,
                               numbering, options_.variant, options_.preconditioner));
  return checkpointed;
}

/// Room in a trace for the phases of any form of CG: at most four products, each with as many of the preconditioner, where a
/// step ends with a recomputed residual and a new beginning; and all sums and updates beside them. Room that is not
/// used takes no memory.
MeasuredWork SolveRun::measured_work(MeasuredSolver& solver, RegionMeasurement& measurement,
                                     const ReadySystem& system) const {
  const auto degree = static_cast<std::size_t>(find_preconditioner(options_.preconditioner)->default_degree);
  const auto trace_room = [this, &system, degree](int step_count) {
    constexpr std::size_t products = 4;
    constexpr std::size_t other_phases = 20;
    const auto events_per_product = (phases_of_product(system) + 1) * (degree + 1) + 2;
    const int steps = std::min(step_count, options_.most_iterations);
    return TraceRoom{
        .step_count = step_count,
        .event_count = static_cast<std::size_t>(steps + 2) * (products * events_per_product + other_phases)};
  };
  return {.solver = solver,
          .measurement = measurement,
          .trace_room = trace_room,
          .matrix_bytes = system.matrix_bytes,
          .vector_bytes =
              vectors_of_a_step * static_cast<std::int64_t>(system.matrix.local_size() * sizeof(double)),
          .storage_bytes_per_s = storage_bytes_per_s(streaming_)};
}

}  // namespace cg2d
