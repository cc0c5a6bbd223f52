#pragma once

// Conjugate gradients on any LinearOperator, with any Preconditioner and StopRule.

#include <memory>
#include <span>

#include "cg/base/process_memory.hpp"
#include "cg/solver/cg_recurrence.hpp"
#include "cg/solver/distributed_vectors.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/preconditioner.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/solver/stop_rule.hpp"

namespace cg2d {

/// Result of a solve of A x = b; the same on every rank.
struct SolveResult {
  SolveEnd end = SolveEnd::step_limit;
  CgState last;  ///< with the number of steps
  /// || b - A x || by the recurrence, where last.residual_is_recomputed: before it was.
  double recurrence_residual_norm = 0.0;
  int classic_step_count = 0;  ///< the last steps, where the classic form took the place of another
  bool has_preconditioner = false;
};

/// All that the rest of a solve depends on, besides b and x, after a step.
struct CgSnapshot {
  CgState state;               ///< as observers get it
  double replaced_norm = 0.0;  ///< norm of the last recomputed residual from which the recurrence began again
  std::span<const double> residual;  ///< this rank's pieces of r and of the next direction
  std::span<const double> direction;
};

/// A snapshot with its x, in memory of its own: this rank's pieces.
struct SolveState {
  HugePageVector x;
  HugePageVector residual;
  HugePageVector direction;
  CgState state;
  double replaced_norm = 0.0;

  [[nodiscard]] CgSnapshot snapshot() const {
    return {.state = state, .replaced_norm = replaced_norm, .residual = residual, .direction = direction};
  }
};

/// Calls per solve of `step_count` steps of the classic form without preconditioner. The performance model counts with them;
/// tests/solver/call_counts_test.cpp holds them against real solves.
struct SolveCalls {
  int step_count = 0;

  [[nodiscard]] constexpr int products() const { return step_count; }
  /// Dot products, each with its sum over all ranks: two per step, and the first rho.
  [[nodiscard]] constexpr int dots() const { return 2 * step_count + 1; }
  /// Other vector operations: three per step, and three before the first one.
  [[nodiscard]] constexpr int updates() const { return 3 * step_count + 3; }
};

/// The calls of ConjugateGradient::residual_norm().
struct ResidualCalls {
  static constexpr int products = 1;
  static constexpr int dots = 1;
  static constexpr int updates = 3;
};

/// Holds references: all must outlive it. Every operation is collective over the operator's ranks and gives
/// the same numbers, to the bit, on every rank.
class ConjugateGradient {
 public:
  /// The classic form of CG, or another row of the table.
  ConjugateGradient(LinearOperator& matrix, Preconditioner& preconditioner, DistributedVectors& vectors,
                    const CgVariantRow& variant = cg_variant_table().front());

  /// Goes on with an operator that has exchanged its layout: vectors of the length that it has now. Between solves.
  void lay_out();

  /// x := about A^-1 b, from x = 0. b, x: this rank's pieces; they do not overlap. A must be definite;
  /// positive or negative makes no difference unless to the stop rule. Cost: as SolveCalls says, and one
  /// product and one sum for each time that the stop rule says `converged`; nothing is allocated, but for the kept iterate at the start of the
  /// first solve (StopRule::keeps_best()), whose pages nobody touches before there is one, and the vectors of
  /// the classic form the first time that rounding spoils another and it goes on instead.
  SolveResult solve(std::span<const double> b, std::span<double> x, const StopRule& stop);
  /// x := about A^-1 b, from the x that is given. Cost: that of solve(), one more product and one more sum.
  SolveResult solve_from(std::span<const double> b, std::span<double> x, const StopRule& stop);

  /// Goes on with the x that is given from a snapshot of an earlier solve of the same system; on the same grid with the same bits. The
  /// vectors of the snapshot are copied first.
  SolveResult resume(std::span<const double> b, std::span<double> x, const CgSnapshot& snapshot,
                     const StopRule& stop);
  /// For observers within after_step(state): all that resume() needs, besides x. The vectors are valid there only.
  [[nodiscard]] CgSnapshot snapshot(const CgState& state) const;
  [[nodiscard]] bool can_be_resumed() const { return recurrence_->can_be_resumed(); }

  /// After a solve that failed, with its result: x := the kept iterate, where its residual, computed anew, is smaller than that of x.
  /// Cost: one product and one sum, where it is smaller by the recurrence.
  void take_kept(std::span<const double> b, std::span<double> x, SystemSolveResult& result);

  /// || b - A x ||, by one more product.
  [[nodiscard]] double residual_norm(std::span<const double> b, std::span<const double> x);

  /// r: of the last solve by the recurrence, or b - A x after residual_norm(). Writing to it during a solve is for faults on
  /// purpose.
  [[nodiscard]] std::span<double> residual() { return recurrence_->residual(); }

  /// Told of every step.
  [[nodiscard]] StepObservers& observers() { return observers_; }

 private:
  class Run;

  [[nodiscard]] bool is_classic() const;
  /// Made when it is asked for.
  CgRecurrence& classic_recurrence();

  DistributedVectors& vectors_;
  CgParts parts_;
  StepObservers observers_;
  const CgVariantRow& variant_;
  std::unique_ptr<CgRecurrence> own_recurrence_;
  std::unique_ptr<CgRecurrence> classic_recurrence_;  // where another form has been spoiled by rounding
  CgRecurrence* recurrence_ = nullptr;                // one of them: of the solve under way, or of the last
  double replaced_norm_ = 0.0;                        // CgSnapshot::replaced_norm of the solve under way
  KeptIterate kept_;  // of the solve under way; a part of it that is resumed goes on with it
};

}  // namespace cg2d
