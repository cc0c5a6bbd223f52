#pragma once

// Solves a user's own system A x = b by one call.

#include <span>
#include <vector>

#include "cg/base/interface.hpp"
#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/preconditioner.hpp"
#include "cg/solver/solve_end.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/solver/stop_rule.hpp"

namespace cg2d {

/// A system and its solution: this rank's pieces, which do not overlap.
struct SystemVectors {
  std::span<const double> b;
  std::span<double> x;
  bool starts_from_x = false;  ///< x holds a guess; else the solve begins with zeros
  /// State of an earlier solve to go on from, whose x is given; one system only.
  const CgSnapshot* snapshot = nullptr;
};

/// x := about A^-1 b by a solver that the caller has made, with its observers and clocks; the rest as for
/// solve() of a whole system, but that nothing is checked.
SystemSolveResult solve(ConjugateGradient& conjugate_gradient, const SystemVectors& vectors,
                        const StopRule& stop);

/// The result of a solve with names; without a residual that is recomputed now.
SystemSolveResult system_result_of(const SolveResult& solved);

/// Solves one system, or several with the same matrix. Every operation is collective over the operator's ranks.
class SystemSolver : public Interface {
 public:
  /// Told of every step; of several systems with the state of the one whose residual is the largest part of its
  /// right-hand side.
  [[nodiscard]] virtual StepObservers& observers() = 0;
  /// Told of every step of one system, after those of all.
  [[nodiscard]] virtual StepObservers& observers_of(int system) = 0;
  /// The solver of a single system; nullptr where there are several.
  [[nodiscard]] virtual ConjugateGradient* conjugate_gradient() { return nullptr; }
  /// x := about A^-1 b. One result for each system; the same on every rank.
  virtual std::vector<SystemSolveResult> solve(const SystemVectors& vectors, const StopRule& stop) = 0;
};

struct SolveOptions {
  const StopRule& stop;
  Preconditioner& preconditioner;
  std::span<StepObserver* const> observers{};  ///< told of every step, in this order
  int thread_count = 1;                        ///< for the vector operations
  const CgVariantRow& variant = cg_variant_table().front();
  bool starts_from_x = false;  ///< x holds a guess; else the solve begins with zeros
};

/// x := about A^-1 b for a definite A. b, x: this rank's pieces, matrix.local_size() doubles each; they do
/// not overlap. Collective over the operator's ranks; the same result on every rank. Throws InputError, on
/// every rank alike, where a piece has another length. Cost: one product per step, and one for each time that
/// the residual is recomputed: once where all goes well; two to eight vectors are allocated. x of a solve that
/// failed (has_failed()) is the iterate with the smallest residual that was kept (KeptResidual), or that of the last completed step, if
/// that is better or the rule keeps none. After not_finite it means nothing.
///
///   MyOperator matrix;  // implements LinearOperator
///   IdentityPreconditioner none;
///   const auto result = solve(matrix, b, x, {.stop = Tolerance({.relative = 1e-10}), .preconditioner = none});
///   std::puts(sentence_of(result).c_str());
SystemSolveResult solve(LinearOperator& matrix, std::span<const double> b, std::span<double> x,
                        const SolveOptions& options);

}  // namespace cg2d
