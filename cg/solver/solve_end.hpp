#pragma once

// How a solve ends: always with a name, and with a sentence on what would help.

#include <span>
#include <string>
#include <string_view>

#include "cg/base/values.hpp"

namespace cg2d {

/// The outcome of a solve.
enum class SolveEnd {
  converged,   ///< the recomputed residual is as small as it was to be
  step_limit,  ///< all allowed steps are done
  stagnated,   ///< no smaller residual is to be had in double precision, or numbers have left its range
  not_positive_definite,  ///< p . A p or r . M^-1 r was not positive
  not_finite,             ///< A, b, M or the initial guess has NaN or infinity
  zero_right_hand_side,   ///< b = 0, so x = 0
  stopped,                ///< an observer asked for it
};

/// An end without a solution that nobody asked for.
constexpr bool has_failed(SolveEnd end) {
  return end == SolveEnd::step_limit || end == SolveEnd::stagnated ||
         end == SolveEnd::not_positive_definite || end == SolveEnd::not_finite;
}

/// The name of an end as reports have it, such as "step_limit".
std::span<const NamedValue<SolveEnd>> words_of(SolveEnd end);
inline std::string_view name_of(SolveEnd end) { return name_in(words_of(end), end); }

/// Result of ConjugateGradient::solve(); the same on every rank.
struct SystemSolveResult {
  SolveEnd end = SolveEnd::step_limit;
  int step_count = 0;
  double right_hand_side_norm = 0.0;  ///< || b ||
  double first_residual_norm = 0.0;   ///< || b - A x || before the first step
  /// || b - A x || of the last step's x by the recurrence: with SolveEnd::stagnated and SolveEnd::converged before it was
  /// recomputed; of a solve without a step before it.
  double residual_norm = 0.0;
  double true_residual_norm = 0.0;  ///< || b - A x ||, recomputed by one more product
  /// The step whose iterate x is: of a solve that failed the best one that was kept (KeptResidual), else the last.
  int solution_step = 0;
  double last_residual_norm = 0.0;  ///< || b - A x ||, recomputed, of the last step's x
  int replacement_count = 0;        ///< recomputed residuals from which the recurrence began again
  /// Steps at the end that the classic form made in place of another, which rounding had spoiled; 0: none.
  int classic_step_count = 0;
  /// The quantity that ended the solve as not_positive_definite or not_finite, or as stagnated where A is singular to double
  /// precision, numbers have left its range, or the residual has long been no smaller (then the smallest r . r); such as "p . A p",
  /// its value, its rounding bound where it was computed, and the step in which it was seen, from 1; 0: before the first one.
  std::string_view quantity{};
  double quantity_value = 0.0;
  double quantity_rounding = 0.0;
  int quantity_step = 0;
  bool has_preconditioner = false;  ///< M is not 1
  /// Condition number of M^-1 A, estimated from below by whoever watched the steps; 0: by nobody.
  double condition_number = 0.0;

  /// x is an earlier iterate than the last.
  bool has_kept() const { return solution_step != step_count; }
};

/// The names of a solve's options in sentences: the library's, unless a program has its own.
struct SolveTerms {
  std::string_view step = "step";
  std::string_view step_limit = "the limit of steps";
  std::string_view tolerance = "tolerance";
  std::string_view preconditioner = "preconditioner";
  std::string_view stopped = "stopped on request";
};

/// "that of step 118", "the initial guess": the iterate that x is, where it is not the last.
std::string kept_place_of(const SystemSolveResult& result, std::string_view step);
/// One sentence for the user: the end with its figures, and what would help.
std::string sentence_of(const SystemSolveResult& result, const SolveTerms& terms = {});

}  // namespace cg2d
