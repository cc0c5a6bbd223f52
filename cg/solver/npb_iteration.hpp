#pragma once

// The outer iteration of the NAS CG benchmark: inverse iteration, each step of which is a solve by conjugate
// gradients.

#include "cg/matrix/problem.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/conjugate_gradient.hpp"

namespace cg2d {

/// Calls in one outer iteration, whose solve is of the classic form without preconditioner. The performance model counts with them;
/// tests/solver/call_counts_test.cpp holds them against real iterations.
struct OuterStepCalls {
  /// One per step, and one for the residual.
  static constexpr int products = cg_steps_per_solve + 1;
  /// Sums over all ranks: two per step, and those of the first rho, the residual and zeta.
  static constexpr int sums = 2 * cg_steps_per_solve + 3;
  /// The sum of zeta has two dot products.
  static constexpr int local_dots = sums + 1;
  /// Other vector operations: three per step, three before the first one and three for the residual, and the scaling; half storage adds two
  /// halves of q in each product.
  static constexpr int updates(bool is_symmetric) {
    return 3 * cg_steps_per_solve + 7 + (is_symmetric ? products : 0);
  }
};

/// The figures of one outer iteration; the same on every rank.
struct OuterStep {
  double zeta = 0.0;
  double residual_norm = 0.0;  ///< || x - A z ||
  bool stop_asked = false;     ///< some rank requested to stop
  bool is_refused = false;     ///< its guard says that it is wrong, and stays so
};
[[nodiscard]] inline bool is_finite(const OuterStep& step) {
  return std::isfinite(step.zeta) && std::isfinite(step.residual_norm);
}
/// True where the iteration must not go on: on request, since numbers are no longer finite, or since its guard says so.
[[nodiscard]] bool must_stop(const OuterStep& step);

/// Told of every outer iteration: progress, requests to stop, checkpoints, traces.
class OuterStepObserver : public Interface {
 public:
  /// True requests to stop after the next outer iteration. Ranks need not answer alike: the request travels
  /// with sums that are there anyway.
  [[nodiscard]] virtual bool asks_to_stop() { return false; }
  virtual void before_outer_step() {}
  /// number: from 1.
  virtual void after_outer_step(int /*number*/, const OuterStep& /*step*/) {}
};

/// The verdict on an attempt at an outer iteration.
enum class AttemptVerdict { accepted, again, refused };

/// This rank's pieces of the vectors of a solve of A x = b, with its residual by the recurrence.
struct GuardedVectors {
  ConstPiece b;
  Piece x;
  Piece residual;
};

/// Checks the steps and every attempt at an outer iteration from inside, and may ask for another one from the same x.
class OuterStepGuard : public StepObserver, public ProductObserver {
 public:
  /// After the solve the residual is computed anew, and summed.
  virtual void before_attempt(const GuardedVectors& vectors) = 0;
  /// After all sums of the attempt. Collective, and the same on all ranks.
  [[nodiscard]] virtual AttemptVerdict verdict() = 0;
};

/// z by 25 CG steps on A z = x, zeta = shift + 1 / (x . z), and x := z / || z ||; on one rank's piece of every vector. All operations are
/// collective and give the same bits on every rank. Holds references: operator, timer and guard must outlive it.
class NpbIteration {
 public:
  NpbIteration(LinearOperator& matrix, PhaseTimer& timer, int thread_count, double shift = 0.0);
  /// On an assembled operator, which a guard observes from now on where there is one.
  NpbIteration(AssembledOperator& assembled, double shift, OuterStepGuard* guard = nullptr);
  ~NpbIteration() = default;
  NpbIteration(const NpbIteration&) = delete;
  NpbIteration& operator=(const NpbIteration&) = delete;

  /// x := (1, ..., 1)
  void reset();
  /// Goes on as if `number` outer iterations had been done since reset(): the x after them, local_size() doubles, and the signs that
  /// they saw. Local.
  void restore(int number, ConstPiece x, const CurvatureSigns& signs);
  /// Goes on with an operator that has exchanged its layout: x is this rank's piece in the new one, and all other vectors get its length. Between
  /// outer iterations.
  void lay_out(ConstPiece x);
  /// This rank's piece of x, which the next outer iteration begins with.
  ConstPiece x() const { return x_; }

  /// One outer iteration. asks_to_stop: of this rank; it travels with the sums that are there anyway.
  OuterStep outer_step(bool asks_to_stop = false);

  /// Makes so many CG steps of an outer iteration, for timing; x stays as it is.
  void steps(int count);

  /// At most that many further outer iterations; ends early after one that must_stop(). Observers get numbers that go on from
  /// restore().
  std::vector<OuterStep> outer_steps(int outer_step_count, std::span<OuterStepObserver* const> observers);

  /// Observers of the CG steps within an outer iteration.
  [[nodiscard]] StepObservers& observers() { return conjugate_gradient_.observers(); }
  const DistributedVectors& vectors() const { return vectors_; }
  /// The signs of p . A p that all solves since reset() saw.
  const CurvatureSigns& curvature_signs() const { return curvature_signs_; }

 private:
  OuterStepGuard* guard_ = nullptr;
  double shift_;
  DistributedVectors vectors_;
  LinearOperator& matrix_;
  HugePageVector x_;
  HugePageVector z_;
  CurvatureSigns curvature_signs_;
  int restored_number_ = 0;
  IdentityPreconditioner preconditioner_;
  ConjugateGradient conjugate_gradient_;
};

}  // namespace cg2d
