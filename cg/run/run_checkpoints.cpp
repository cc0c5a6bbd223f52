#include "cg/run/run_checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/matrix/matrix_facts.hpp"

namespace cg2d {
namespace {

std::string numbers_text(const Problem& problem) {
  return fmt::format("n {}, nonzer {}, shift {}, niter {}", problem.n, problem.nonzer, problem.shift,
                     problem.niter);
}

/// The state depends on nothing else. Files keep the value.
std::uint64_t hash_of(const Problem& problem) { return hash_of_text("run " + numbers_text(problem)); }

/// A checkpoint has this besides x.
struct RunState {
  Problem problem;
  CurvatureSigns signs;  ///< of p . A p
  std::vector<OuterStep> steps;
};

void describe(Members& m, RunState& state) {
  m("n", state.problem.n);
  m("nonzer", state.problem.nonzer);
  m("shift", state.problem.shift);
  m("niter", state.problem.niter);
  m("saw_positive", state.signs.saw_positive);
  m("saw_negative", state.signs.saw_negative);
  m.list("steps", state.steps, {}, [&](OuterStep& step, std::size_t /*index*/) {
    m("zeta", step.zeta);
    m("residual_norm", step.residual_norm);
  });
}

}  // namespace

RestartFacts restart_facts(FoundCheckpoint checkpoint, const Problem& problem) {
  const auto& [folder, header] = std::tie(checkpoint.folder, checkpoint.header());
  if (header.kind != CheckpointKind::run)
    throw FileError(folder, "found a checkpoint of cg2d solve, expected one of cg2d run");
  auto state = from_json_line<RunState>(checkpoint.state);
  const bool is_possible =
      state && header.vector_count == 1 && header.step >= 1 && std::ssize(state->steps) == header.step &&
      std::ranges::all_of(state->steps, [](const auto& step) { return is_finite(step); });
  if (!is_possible) throw FileError(folder, "found an impossible state, expected one of cg2d run");
  if (header.matrix_hash != hash_of(problem) || header.order != problem.n || header.step >= problem.niter)
    throw FileError(folder,
                    fmt::format("found a checkpoint of another problem ({}), expected class {} ({})",
                                numbers_text(state->problem), problem.class_name, numbers_text(problem)));
  return {
      .checkpoint = std::move(checkpoint), .earlier_steps = std::move(state->steps), .signs = state->signs};
}

HugePageVector restarted_x(const RestartFacts& restart, const comm::IndexRange& range,
                           comm::RankGroup& group) {
  HugePageVector x(static_cast<std::size_t>(range.size()));
  const std::array targets{std::span<double>(x)};
  read_vectors(restart.checkpoint, range, targets, group);
  return x;
}

RunCheckpoints::RunCheckpoints(const Problem& problem, const CheckpointedVector& x,
                               std::vector<OuterStep> earlier_steps, CheckpointSaver& saver)
    : problem_(problem), x_(x), steps_(std::move(earlier_steps)), saver_(saver) {
  saver_.rehearse(state(static_cast<int>(steps_.size())));
}

/// The data live in members, since the state only refers to them.
CheckpointState RunCheckpoints::state(int number) {
  RunState saved{problem_, x_.iteration.curvature_signs(), steps_};
  state_ = json_line(saved);
  vector_ = x_.iteration.x();
  return {.kind = CheckpointKind::run,
          .matrix_hash = hash_of(problem_),
          .order = problem_.n,
          .step = number,
          .range = *x_.range,
          .data = {.state = state_, .vectors = {&vector_, 1}}};
}

/// The last state is the result, and no state to go on from.
void RunCheckpoints::after_outer_step(int number, const OuterStep& step) {
  steps_.push_back(step);
  if (number == problem_.niter || !is_finite(step)) return;
  if (!step.stop_asked && !saver_.first_says(since_last_.seconds() >= saver_.interval_s())) return;
  saver_.save(state(number));
  since_last_ = {};
}

}  // namespace cg2d
