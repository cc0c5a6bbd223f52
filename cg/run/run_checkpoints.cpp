#include "cg/run/run_checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/matrix/matrix_facts.hpp"

namespace cg2d {
namespace {

std::string numbers_text(const Problem& problem) {
  return fmt::format("n {}, nonzer {}, shift {}, niter {}", problem.n, problem.nonzer, problem.shift,
                     problem.niter);
}

/// The state depends on nothing else. Files keep the value.
std::uint64_t hash_of(const Problem& problem) { return hash_of_text("run " + numbers_text(problem)); }

}  // namespace

void describe(Members& m, RestartFacts& restart) {
  m("n", restart.problem.n);
  m("nonzer", restart.problem.nonzer);
  m("shift", restart.problem.shift);
  m("niter", restart.problem.niter);
  m("saw_positive", restart.signs.saw_positive);
  m("saw_negative", restart.signs.saw_negative);
  m.list("steps", restart.earlier_steps, {}, [&](OuterStep& step, std::size_t /*index*/) {
    m("zeta", step.zeta);
    m("residual_norm", step.residual_norm);
  });
}

RestartFacts restart_facts(FoundCheckpoint checkpoint, const Problem& problem) {
  const auto& [folder, header] = std::tie(checkpoint.folder, checkpoint.header());
  if (header.kind != CheckpointKind::run)
    throw FileError(folder, "found a checkpoint of cg2d solve, expected one of cg2d run");
  auto restart = from_json_line<RestartFacts>(checkpoint.state);
  const bool is_possible =
      restart && header.vector_count == 1 && header.step >= 1 && restart->step_count() == header.step &&
      std::ranges::all_of(restart->earlier_steps, [](const auto& step) { return is_finite(step); });
  if (!is_possible) throw FileError(folder, "found an impossible state, expected one of cg2d run");
  if (header.matrix_hash != hash_of(problem) || header.order != problem.n || header.step >= problem.niter)
    throw FileError(folder, "found a checkpoint of another problem ({}), expected class {} ({})",
                    numbers_text(restart->problem), problem.class_name, numbers_text(problem));
  restart->checkpoint = std::move(checkpoint);
  return *std::move(restart);
}

HugePageVector restarted_x(const RestartFacts& restart, const comm::IndexRange& range,
                           comm::RankGroup& group) {
  HugePageVector x(static_cast<std::size_t>(range.size()));
  const std::array targets{std::span<double>(x)};
  read_vectors(restart.checkpoint, range, targets, group);
  return x;
}

RunCheckpoints::RunCheckpoints(const Problem& problem, const NpbIteration& iteration,
                               const comm::IndexRange& range, std::vector<OuterStep> earlier_steps,
                               Checkpoints& checkpoints)
    : iteration_(iteration),
      range_(range),
      saved_{.problem = problem, .earlier_steps = std::move(earlier_steps)},
      checkpoints_(checkpoints) {
  checkpoints_.rehearse(state());
}

CheckpointState RunCheckpoints::state() {
  saved_.signs = iteration_.curvature_signs();
  return {.header = {.kind = CheckpointKind::run,
                     .matrix_hash = hash_of(saved_.problem),
                     .order = saved_.problem.n,
                     .step = saved_.step_count(),
                     .begin = range_.begin,
                     .end = range_.end},
          .text = json_line(saved_),
          .vectors = {iteration_.x()}};
}

/// The last state is the result, and no state to go on from.
void RunCheckpoints::after_outer_step(int number, const OuterStep& step) {
  saved_.earlier_steps.push_back(step);
  if (number == saved_.problem.niter || !is_finite(step)) return;
  if (step.stop_asked || checkpoints_.is_due()) checkpoints_.save(state());
}

}  // namespace cg2d
