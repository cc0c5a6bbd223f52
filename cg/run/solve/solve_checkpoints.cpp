#include "cg/run/solve/solve_checkpoints.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"

namespace cg2d {

void describe(Members& m, SolveRestart& restart) {
  auto& cg = restart.state;
  m("number", cg.number);
  m("rho", cg.rho);
  m("curvature", cg.curvature);
  m("alpha", cg.alpha);
  m("beta", cg.beta);
  m("residual_square", cg.residual_square);
  m("first_residual_square", cg.first_residual_square);
  m("right_hand_side_square", cg.right_hand_side_square);
  m("right_hand_side_is_zero", cg.right_hand_side_is_zero);
  m("direction_square", cg.direction_square);
  m("largest_quotient", cg.largest_quotient);
  m("replacement_count", cg.replacement_count, at_least(0));
  m("saw_positive", cg.signs.saw_positive);
  m("saw_negative", cg.signs.saw_negative);
  m("replaced_norm", restart.replaced_norm);
  m("alphas", restart.steps.alpha);
  m("betas", restart.steps.beta);
  m("residual_squares", restart.steps.residual_square);
  m("replacement_counts", restart.steps.replacement_count, at_least(0));
}

namespace {

bool have_length(const SavedSteps& steps, std::int64_t length) {
  return std::ssize(steps.alpha) == length && std::ssize(steps.beta) == length &&
         std::ssize(steps.residual_square) == length && std::ssize(steps.replacement_count) == length;
}

}  // namespace

void SavedSteps::add(const CgState& state) {
  alpha.push_back(state.alpha);
  beta.push_back(state.beta);
  residual_square.push_back(state.residual_square);
  replacement_count.push_back(state.replacement_count);
}

void SolveRestart::replay(StepObserver& observer) const {
  CgState earlier = state;
  for (std::size_t k = 0; k < steps.alpha.size(); ++k) {
    earlier.number = static_cast<int>(k) + 1;
    earlier.alpha = steps.alpha[k];
    earlier.beta = steps.beta[k];
    earlier.residual_square = steps.residual_square[k];
    earlier.replacement_count = steps.replacement_count[k];
    static_cast<void>(observer.after_step(earlier));
  }
}

SolveRestart solve_restart(FoundCheckpoint checkpoint, const CheckpointedSystem& system) {
  const auto& [folder, header] = std::tie(checkpoint.folder, checkpoint.header());
  if (header.kind != CheckpointKind::solve)
    throw FileError(folder, "found a checkpoint of cg2d run, expected one of cg2d solve");
  auto restart = from_json_line<SolveRestart>(checkpoint.state);
  if (!restart || header.vector_count != 3 || header.step < 1 || restart->state.number != header.step ||
      !have_length(restart->steps, header.step))
    throw FileError(folder, "found an impossible state, expected one of cg2d solve");
  if (header.matrix_hash != system.hash || header.order != system.order)
    throw FileError(folder, fmt::format("found a checkpoint of another system (of {} rows), expected {}",
                                        header.order, system.text));
  restart->checkpoint = std::move(checkpoint);
  return *std::move(restart);
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
  if (restart != nullptr) saved_.steps = restart->steps;
  saver_.rehearse(state({.state = {}, .replaced_norm = 0.0, .residual = x_, .direction = x_}));
  next_s_ = saver_.interval_s();
}

CheckpointState SolveCheckpoints::state(const CgSnapshot& snapshot) {
  saved_.state = snapshot.state;
  saved_.replaced_norm = snapshot.replaced_norm;
  state_ = json_line(saved_);
  vectors_ = {x_, snapshot.residual, snapshot.direction};
  return {.kind = CheckpointKind::solve,
          .matrix_hash = system_.hash,
          .order = system_.order,
          .step = snapshot.state.number,
          .range = system_.range,
          .data = {.state = state_, .vectors = vectors_}};
}

bool SolveCheckpoints::after_step(const CgState& state) {
  saved_.steps.add(state);
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
