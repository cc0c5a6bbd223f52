#include "cg/run/solve/solve_observers.hpp"

#include <array>
#include <tuple>

#include "cg/base/describe.hpp"

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
  m.list("steps", restart.steps, {}, [&](SavedStep& step, std::size_t /*index*/) {
    m("alpha", step.alpha);
    m("beta", step.beta);
    m("residual_square", step.residual_square);
    m("replacement_count", step.replacement_count, at_least(0));
  });
}

void SolveRestart::replay(StepObserver& observer) const {
  CgState earlier = state;
  earlier.number = 0;
  for (const auto& step : steps) {
    ++earlier.number;
    earlier.alpha = step.alpha;
    earlier.beta = step.beta;
    earlier.residual_square = step.residual_square;
    earlier.replacement_count = step.replacement_count;
    static_cast<void>(observer.after_step(earlier));
  }
}

SolveRestart solve_restart(FoundCheckpoint checkpoint, const CheckpointedSystem& system) {
  const auto& [folder, header] = std::tie(checkpoint.folder, checkpoint.header());
  if (header.kind != CheckpointKind::solve)
    throw FileError(folder, "found a checkpoint of cg2d run, expected one of cg2d solve");
  auto restart = from_json_line<SolveRestart>(checkpoint.state);
  if (!restart || header.vector_count != 3 || header.step < 1 || restart->state.number != header.step ||
      std::ssize(restart->steps) != header.step)
    throw FileError(folder, "found an impossible state, expected one of cg2d solve");
  if (header.matrix_hash != system.hash || header.order != system.order)
    throw FileError(folder, "found a checkpoint of another system (of {} rows), expected {}", header.order,
                    system.text);
  restart->checkpoint = std::move(checkpoint);
  return *std::move(restart);
}

SolveState restarted_state(const SolveRestart& restart, const comm::IndexRange& range,
                           comm::RankGroup& group) {
  const auto size = static_cast<std::size_t>(range.size());
  SolveState state{.x = HugePageVector(size),
                   .residual = HugePageVector(size),
                   .direction = HugePageVector(size),
                   .state = restart.state,
                   .replaced_norm = restart.replaced_norm};
  const std::array targets{std::span<double>(state.x), std::span<double>(state.residual),
                           std::span<double>(state.direction)};
  read_vectors(restart.checkpoint, range, targets, group);
  return state;
}

/// The rehearsal has vectors of the right length, whatever they hold.
SolveCheckpoints::SolveCheckpoints(const CheckpointWork& work, const SolveRestart* restart) : work_(work) {
  if (restart != nullptr) saved_.steps = restart->steps;
  work_.checkpoints.rehearse(
      state({.state = {}, .replaced_norm = 0.0, .residual = work_.x, .direction = work_.x}));
  next_s_ = work_.checkpoints.interval_s();
}

CheckpointState SolveCheckpoints::state(const CgSnapshot& snapshot) {
  saved_.state = snapshot.state;
  saved_.replaced_norm = snapshot.replaced_norm;
  return {.header = {.kind = CheckpointKind::solve,
                     .matrix_hash = work_.system.hash,
                     .order = work_.system.order,
                     .step = snapshot.state.number,
                     .begin = work_.system.range.begin,
                     .end = work_.system.range.end},
          .text = json_line(saved_),
          .vectors = {work_.x, snapshot.residual, snapshot.direction}};
}

bool SolveCheckpoints::after_step(const CgState& state) {
  saved_.steps.push_back({.alpha = state.alpha,
                          .beta = state.beta,
                          .residual_square = state.residual_square,
                          .replacement_count = state.replacement_count});
  const bool stops = work_.watch.after_step(state);
  // A solve that goes on from NaN ends with it.
  const bool is_finite = std::isfinite(state.rho) && std::isfinite(state.residual_square);
  const bool is_last = state.number == work_.most_iterations;
  if (is_finite && (stops || is_last || work_.watch.common_s() >= next_s_)) {
    work_.outside([&] { work_.checkpoints.save(this->state(work_.solver.snapshot(state))); });
    next_s_ = work_.watch.common_s() + work_.checkpoints.interval_s();
  }
  return stops;
}

}  // namespace cg2d
