#include "cg/run/solve/solve_report.hpp"

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
  m.list("steps", restart.steps, {}, [&](StepNumbers& step, size_t /*index*/) {
    m("alpha", step.alpha);
    m("beta", step.beta);
    m("residual_square", step.residual_square);
    m("replacement_count", step.replacement_count, at_least(0));
  });
}

SolveRestart solve_restart(FoundCheckpoint checkpoint, const CheckpointHeader& system,
                           const std::string& text) {
  const auto& [folder, header] = std::tie(checkpoint.folder, checkpoint.header());
  if (header.kind != CheckpointKind::solve)
    throw FileError(folder, "found a checkpoint of cg2d run, expected one of cg2d solve");
  auto restart = from_json_line<SolveRestart>(checkpoint.state);
  if (!restart || header.vector_count != 3 || header.step < 1 || restart->state.number != header.step ||
      std::ssize(restart->steps) != header.step)
    throw FileError(folder, "found an impossible state, expected one of cg2d solve");
  if (header.matrix_hash != system.matrix_hash || header.order != system.order)
    throw FileError(folder, "found a checkpoint of another system (of {} rows), expected {}", header.order,
                    text);
  restart->checkpoint = std::move(checkpoint);
  return *std::move(restart);
}

}  // namespace cg2d
