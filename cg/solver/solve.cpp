#include "cg/solver/solve.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string_view>

#include "cg/base/errors.hpp"
#include "cg/solver/distributed_vectors.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {
namespace {

void require_pieces(LinearOperator& matrix, std::span<const double> b, std::span<const double> x) {
  const bool fit = b.size() == matrix.local_size() && x.size() == matrix.local_size();
  if (const double misfits = matrix.sum_of_ranks(fit ? 0.0 : 1.0); misfits > 0.0)
    throw InputError(
        fmt::format("solve: b or x has another length than the operator's pieces on {} ranks", misfits));
}

/// Numbers have left the range of double precision, where the input is finite.
bool has_left_range(const CgState& last) {
  return last.is_not_finite() || last.right_hand_side_square < Tolerance::least_square;
}

/// The quantity that ended the solve, in the order in which a step computes them.
void name_quantity(SystemSolveResult& result, const CgState& last) {
  const auto note = [&](std::string_view name, double value, int step,
                        const std::optional<double>& rounding = std::nullopt) {
    result.quantity = name;
    result.quantity_value = value;
    result.quantity_rounding = rounding.value_or(0.0);
    result.quantity_step = step;
  };
  const bool is_stagnated = result.end == SolveEnd::stagnated;
  if (is_stagnated && !has_left_range(last)) {
    if (last.direction_is_null())
      return note("p . A p", last.curvature, last.number + 1, last.curvature_rounding);
    if (last.is_idle()) note("r . r", last.least_residual_square, last.least_residual_step);
    return;
  }
  const auto is_wrong = [&](double value) {
    return result.end == SolveEnd::not_positive_definite ? value <= 0.0 : !std::isfinite(value);
  };
  if (is_wrong(last.right_hand_side_square) || last.right_hand_side_square < Tolerance::least_square)
    return note("b . b", last.right_hand_side_square, 0);
  // x0, A or M is not finite before the first step, or A in the step that did not come to its end.
  if (is_wrong(last.residual_square)) return note("r . r", last.residual_square, last.number);
  if (is_wrong(last.rho)) return note("r . M^-1 r", last.rho, last.number, last.rho_rounding);
  note("p . A p", last.curvature, last.number + 1, last.curvature_rounding);
}

}  // namespace

SystemSolveResult system_result_of(const SolveResult& solved) {
  const auto& last = solved.last;
  SystemSolveResult result{.end = solved.end,
                           .step_count = last.number,
                           .right_hand_side_norm = last.right_hand_side_norm(),
                           .first_residual_norm = last.first_residual_norm(),
                           .residual_norm = solved.recurrence_residual_norm,
                           .true_residual_norm = last.residual_norm(),
                           .solution_step = last.number,
                           .last_residual_norm = last.residual_norm(),
                           .curvature = last.curvature,
                           .replacement_count = last.replacement_count,
                           .classic_step_count = solved.classic_step_count,
                           .has_preconditioner = solved.has_preconditioner};
  if (result.end == SolveEnd::not_finite || result.end == SolveEnd::not_positive_definite ||
      result.end == SolveEnd::stagnated)
    name_quantity(result, last);
  return result;
}

SystemSolveResult solve(ConjugateGradient& conjugate_gradient, const SystemVectors& vectors,
                        const StopRule& stop) {
  const auto [b, x, starts_from_x, snapshot] = vectors;
  const auto solved = snapshot != nullptr ? conjugate_gradient.resume(b, x, *snapshot, stop)
                      : starts_from_x     ? conjugate_gradient.solve_from(b, x, stop)
                                          : conjugate_gradient.solve(b, x, stop);
  auto result = system_result_of(solved);
  if (!solved.last.residual_is_recomputed) result.last_residual_norm = conjugate_gradient.residual_norm(b, x);
  result.true_residual_norm = result.last_residual_norm;
  conjugate_gradient.take_kept(b, x, result);
  return result;
}

SystemSolveResult solve(LinearOperator& matrix, std::span<const double> b, std::span<double> x,
                        const SolveOptions& options) {
  require_pieces(matrix, b, x);
  PhaseTimer no_timer;
  DistributedVectors vectors(matrix, no_timer, options.thread_count);
  ConjugateGradient conjugate_gradient(matrix, options.preconditioner, vectors, options.variant);
  for (auto* observer : options.observers) conjugate_gradient.observers().add(*observer);
  return solve(conjugate_gradient, {.b = b, .x = x, .starts_from_x = options.starts_from_x}, options.stop);
}

}  // namespace cg2d
