#include "cg/run/solve/solve_checkpoints.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "cg/base/errors.hpp"

namespace cg2d {
namespace {

// The numbers of a checkpoint: the state of CG, the last recomputed norm, then each iteration.
constexpr std::size_t state_number_count = 15;

std::vector<double> numbers_of(const CgSnapshot& snapshot, std::span<const SavedStep> steps) {
  const auto& state = snapshot.state;
  std::vector<double> numbers{static_cast<double>(state.number),
                              state.rho,
                              state.curvature,
                              state.alpha,
                              state.beta,
                              state.residual_square,
                              state.first_residual_square,
                              state.right_hand_side_square,
                              state.right_hand_side_is_zero ? 1.0 : 0.0,
                              state.direction_square,
                              state.largest_quotient,
                              static_cast<double>(state.replacement_count),
                              state.signs.saw_positive ? 1.0 : 0.0,
                              state.signs.saw_negative ? 1.0 : 0.0,
                              snapshot.replaced_norm};
  for (const auto& step : steps)
    numbers.insert(numbers.end(), {step.alpha, step.beta, step.residual_square, step.replacement_count});
  return numbers;
}

/// Whether a number is a count that an int holds: others have no defined conversion.
bool is_count(double number) {
  return number >= 0.0 && number <= std::numeric_limits<int>::max() && number == std::floor(number);
}

/// Whether the numbers are those of so many iterations.
bool has_shape(std::span<const double> numbers, std::int64_t step) {
  if (step < 1 || step > std::numeric_limits<int>::max() ||
      std::ssize(numbers) != static_cast<std::int64_t>(state_number_count) + 4 * step)
    return false;
  if (numbers[0] != static_cast<double>(step) || !is_count(numbers[11])) return false;
  for (std::size_t k = state_number_count; k < numbers.size(); k += 4) {
    if (!is_count(numbers[k + 3])) return false;
  }
  return true;
}

void take_numbers(std::span<const double> numbers, SolveRestart& restart) {
  auto& state = restart.state;
  state.number = static_cast<int>(numbers[0]);
  state.rho = numbers[1];
  state.curvature = numbers[2];
  state.alpha = numbers[3];
  state.beta = numbers[4];
  state.residual_square = numbers[5];
  state.first_residual_square = numbers[6];
  state.right_hand_side_square = numbers[7];
  state.right_hand_side_is_zero = numbers[8] != 0.0;
  state.direction_square = numbers[9];
  state.largest_quotient = numbers[10];
  state.replacement_count = static_cast<int>(numbers[11]);
  state.signs = {.saw_positive = numbers[12] != 0.0, .saw_negative = numbers[13] != 0.0};
  restart.replaced_norm = numbers[14];
  for (std::size_t k = state_number_count; k + 3 < numbers.size(); k += 4)
    restart.steps.push_back({.alpha = numbers[k],
                             .beta = numbers[k + 1],
                             .residual_square = numbers[k + 2],
                             .replacement_count = numbers[k + 3]});
}

}  // namespace

void SolveRestart::replay(StepObserver& observer) const {
  CgState earlier = state;
  earlier.number = 0;
  for (const auto& step : steps) {
    ++earlier.number;
    earlier.alpha = step.alpha;
    earlier.beta = step.beta;
    earlier.residual_square = step.residual_square;
    earlier.replacement_count = static_cast<int>(step.replacement_count);
    static_cast<void>(observer.after_step(earlier));
  }
}

SolveRestart solve_restart(FoundCheckpoint checkpoint, const CheckpointedSystem& system) {
  SolveRestart restart;
  restart.checkpoint = std::move(checkpoint);
  const auto& found = restart.checkpoint;
  const auto& folder = found.folder;
  const auto& header = found.header();
  if (header.kind != CheckpointKind::solve)
    throw FileError(folder, "found a checkpoint of cg2d run, expected one of cg2d solve");
  if (header.vector_count != 3 || !has_shape(found.numbers, header.step))
    throw FileError(folder, "found an impossible state, expected one of cg2d solve");
  if (header.matrix_hash != system.hash || header.order != system.order)
    throw FileError(folder, fmt::format("found a checkpoint of another system (of {} rows), expected {}",
                                        header.order, system.text));
  take_numbers(found.numbers, restart);
  return restart;
}

RestartedVectors restarted_vectors(const SolveRestart& restart, const comm::IndexRange& range,
                                   comm::RankGroup& group) {
  const auto size = static_cast<std::size_t>(range.size());
  RestartedVectors vectors{
      .x = HugePageVector(size), .residual = HugePageVector(size), .direction = HugePageVector(size)};
  const std::array targets{std::span<double>(vectors.x), std::span<double>(vectors.residual),
                           std::span<double>(vectors.direction)};
  read_vectors(restart.checkpoint, range, targets, group);
  return vectors;
}

SolveCheckpoints::SolveCheckpoints(const CheckpointedSystem& system, ConjugateGradient& solver,
                                   std::span<const double> x, const CheckpointWork& work)
    : system_(system),
      solver_(solver),
      x_(x),
      interrupts_(work.interrupts),
      outside_(work.outside),
      saver_(work.saver),
      most_iterations_(work.most_iterations) {}

/// The rehearsal has vectors of the right length, whatever they hold.
void SolveCheckpoints::prepare(const SolveRestart* restart) {
  if (restart != nullptr) steps_ = restart->steps;
  saver_.rehearse(state({.state = {}, .replaced_norm = 0.0, .residual = x_, .direction = x_}));
  next_s_ = saver_.interval_s();
}

CheckpointState SolveCheckpoints::state(const CgSnapshot& snapshot) {
  numbers_ = numbers_of(snapshot, steps_);
  vectors_ = {x_, snapshot.residual, snapshot.direction};
  return {.kind = CheckpointKind::solve,
          .matrix_hash = system_.hash,
          .order = system_.order,
          .step = snapshot.state.number,
          .range = system_.range,
          .data = {.numbers = numbers_, .vectors = vectors_}};
}

bool SolveCheckpoints::after_step(const CgState& state) {
  steps_.push_back({.alpha = state.alpha,
                    .beta = state.beta,
                    .residual_square = state.residual_square,
                    .replacement_count = static_cast<double>(state.replacement_count)});
  const bool stops = interrupts_.after_step(state);
  // A solve that goes on from NaN ends with it.
  const bool is_finite = std::isfinite(state.rho) && std::isfinite(state.residual_square);
  const bool is_last = state.number == most_iterations_;
  if (is_finite && (stops || is_last || interrupts_.common_s() >= next_s_)) {
    outside_([&] { saver_.save(this->state(solver_.snapshot(state))); });
    next_s_ = interrupts_.common_s() + saver_.interval_s();
  }
  return stops;
}

}  // namespace cg2d
