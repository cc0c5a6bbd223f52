#include "cg/solver/solve_end.hpp"

#include <fmt/format.h>

#include <cmath>

namespace cg2d {
namespace {

std::string steps_of(const SystemSolveResult& result, const SolveTerms& terms) {
  return format_count(result.step_count, std::string(terms.step));
}

std::string seen_in(const SystemSolveResult& result, const SolveTerms& terms) {
  return result.quantity_step == 0 ? fmt::format("before the first {}", terms.step)
                                   : fmt::format("in {} {}", terms.step, result.quantity_step);
}

/// "p . A p is -2 in iteration 3".
std::string quantity_text(const SystemSolveResult& result, const SolveTerms& terms) {
  return fmt::format("{} is {:.3g} {}", result.quantity, result.quantity_value, seen_in(result, terms));
}

/// Where x is an earlier iterate than the last: which, with both residuals.
std::string kept_text(const SystemSolveResult& result, const SolveTerms& terms) {
  if (!result.has_kept()) return {};
  return fmt::format("; x is {}, the best that was kept: || b - A x || is {:.3g}, and {:.3g} after the last",
                     kept_place_of(result, terms.step), result.true_residual_norm, result.last_residual_norm);
}

std::string not_positive_definite_sentence(const SystemSolveResult& result, const SolveTerms& terms) {
  // Where an earlier p . A p was positive, A is indefinite.
  const auto what =
      result.quantity == "r . M^-1 r"
          ? fmt::format("the preconditioner is not: take another {}, or none, to see whether the matrix is",
                        terms.preconditioner)
          : fmt::format(
                "CG needs a symmetric positive definite matrix: check {}its boundary conditions, or take "
                "MINRES or a factorization",
                result.quantity_step > 1 ? ""
                                         : "its signs (solve -A x = -b where A is negative definite) and ");
  return fmt::format("not positive definite: {}; {}", quantity_text(result, terms), what);
}

std::string condition_text(const SystemSolveResult& result) {
  if (!(result.condition_number > 0.0)) return {};
  const auto* const of_what = result.has_preconditioner ? " with the preconditioner" : "";
  if (!std::isfinite(result.condition_number))
    return fmt::format(" (condition number{}: beyond 1e+308, estimated)", of_what);
  return fmt::format(" (condition number{}: {:.2g} or more, estimated)", of_what, result.condition_number);
}

std::string stagnated_sentence(const SystemSolveResult& result, const SolveTerms& terms) {
  const auto text = fmt::format("stagnated after {}: || b - A x || is {:.3g}, recomputed; ",
                                steps_of(result, terms), result.last_residual_norm);
  const auto* const with = result.has_preconditioner ? " with this preconditioner" : "";
  const auto condition = condition_text(result);
  // M scales the system already where there is one.
  const auto scaling = result.has_preconditioner
                           ? fmt::format("take another {}", terms.preconditioner)
                           : fmt::format("scale the matrix, as {} jacobi does", terms.preconditioner);
  if (result.quantity.empty())
    return fmt::format(
        "{}{:.3g} by the recurrence: the tolerance is below the accuracy of double precision for this "
        "system{}{}: take a larger {}, or {}",
        text, result.residual_norm, with, condition, terms.tolerance, scaling);
  const auto seen = text + quantity_text(result, terms);
  if (result.quantity == "b . b")
    return seen +
           ": its numbers leave the range of double precision: scale the right-hand side, and x with it";
  if (!std::isfinite(result.quantity_value))
    return fmt::format("{}: numbers leave the range of double precision{}: {}, or scale the right-hand side",
                       seen, condition, scaling);
  if (result.quantity == "r . r")
    return fmt::format(
        "{}, and no smaller since: the matrix is too badly scaled for double precision{}{}, or not positive "
        "definite, by too little for p . A p to show it: {}, or take a factorization",
        seen, with, condition, scaling);
  return fmt::format(
      "{}, zero to rounding (at most {:.3g}): the matrix is singular to double precision, and b has a part "
      "that no A x reaches: subtract from b its part in the null space (its mean, where that is the "
      "constants), or fix an unknown",
      seen, result.quantity_rounding);
}

std::string not_finite_sentence(const SystemSolveResult& result, const SolveTerms& terms) {
  const auto* const where =
      result.quantity == "b . b"
          ? ": NaN or infinity in the right-hand side, the matrix or the preconditioner"
          : "; look for NaN or infinity in the matrix, its preconditioner and the initial guess";
  return fmt::format("not finite: {} is {} {}{}", result.quantity, result.quantity_value,
                     seen_in(result, terms), where);
}

}  // namespace

std::span<const NamedValue<SolveEnd>> words_of(SolveEnd /*end*/) {
  static constexpr std::array words{
      NamedValue<SolveEnd>{"converged", SolveEnd::converged},
      NamedValue<SolveEnd>{"zero_right_hand_side", SolveEnd::zero_right_hand_side},
      NamedValue<SolveEnd>{"step_limit", SolveEnd::step_limit},
      NamedValue<SolveEnd>{"stagnated", SolveEnd::stagnated},
      NamedValue<SolveEnd>{"not_positive_definite", SolveEnd::not_positive_definite},
      NamedValue<SolveEnd>{"not_finite", SolveEnd::not_finite},
      NamedValue<SolveEnd>{"stopped", SolveEnd::stopped}};
  return words;
}

std::string kept_place_of(const SystemSolveResult& result, std::string_view step) {
  if (result.solution_step == 0) return "the initial guess";
  return fmt::format("that of {} {}", step, result.solution_step);
}

std::string sentence_of(const SystemSolveResult& result, const SolveTerms& terms) {
  const auto kept = kept_text(result, terms);
  switch (result.end) {
    case SolveEnd::converged:
      return fmt::format("converged in {}: || b - A x || is {:.3g}, recomputed", steps_of(result, terms),
                         result.true_residual_norm);
    case SolveEnd::step_limit:
      return fmt::format(
                 "iteration limit: after {} || b - A x || is {:.3g}, recomputed{}; raise {}, or take {} {} "
                 "or a larger {}",
                 steps_of(result, terms), result.last_residual_norm, condition_text(result), terms.step_limit,
                 result.has_preconditioner ? "another" : "a", terms.preconditioner, terms.tolerance) +
             kept;
    case SolveEnd::stagnated:
      return stagnated_sentence(result, terms) + kept;
    case SolveEnd::not_positive_definite:
      return not_positive_definite_sentence(result, terms) + kept;
    case SolveEnd::not_finite:
      return not_finite_sentence(result, terms) + kept;
    case SolveEnd::zero_right_hand_side:
      return "the right-hand side is zero, so x = 0";
    case SolveEnd::stopped:
      return fmt::format("{} after {}: || b - A x || is {:.3g}, recomputed", terms.stopped,
                         steps_of(result, terms), result.true_residual_norm);
  }
  return {};
}

}  // namespace cg2d
