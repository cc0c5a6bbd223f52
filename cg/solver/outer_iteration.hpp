#pragma once

// Outer iterations on the benchmark's matrix, whatever one of them computes; and the table of their kinds.

#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cg/base/interface.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/distributed_vectors.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {

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
  std::span<const double> b;
  std::span<double> x;
  std::span<double> residual;
};

/// Checks the steps and every attempt at an outer iteration from inside, and may ask for another one from the same x.
class OuterStepGuard : public StepObserver {
 public:
  /// The operator to work with, in place of the assembled one, whose products this observes from now on; both live as long as the solver.
  [[nodiscard]] virtual LinearOperator& guarded() = 0;
  /// After the solve the residual is computed anew, and summed.
  virtual void before_attempt(const GuardedVectors& vectors) = 0;
  /// After all sums of the attempt. Collective, and the same on all ranks.
  [[nodiscard]] virtual AttemptVerdict verdict() = 0;
};

/// Iterates on one rank's piece of every vector. All operations are collective and give the same bits on every rank. Holds
/// references: operator and timer must outlive it.
class OuterIteration : public Interface {
 public:
  OuterIteration(LinearOperator& matrix, PhaseTimer& timer, int thread_count);

  /// x := (1, ..., 1)
  void reset();
  /// Goes on as if `number` outer iterations had been done since reset(): the x after them, local_size() doubles, and the signs that
  /// they saw. Local.
  void restore(int number, std::span<const double> x, const CurvatureSigns& signs);
  /// Goes on with an operator that has exchanged its layout: x is this rank's piece in the new one, and all other vectors get its length. Between
  /// outer iterations.
  void lay_out(std::span<const double> x);
  /// This rank's piece of x, which the next outer iteration begins with.
  [[nodiscard]] std::span<const double> x() const { return x_; }

  /// One outer iteration: z from x by attempt(), and x := z / || z ||. asks_to_stop: of this rank; it travels with the sums that are there
  /// anyway.
  OuterStep outer_step(double shift, bool asks_to_stop);

  /// Makes so many steps of an outer iteration, for timing; x stays as it is.
  virtual void steps(int count) = 0;

  /// At most that many further outer iterations; ends early after one that must_stop(). Observers get numbers that go on from
  /// restore().
  std::vector<OuterStep> iterate(double shift, int outer_step_count,
                                 std::span<OuterStepObserver* const> observers);

  /// The guard of every outer_step(); nullptr: none. It must outlive this.
  void set_guard(OuterStepGuard* guard) { guard_ = guard; }

  /// Observers of the steps within an outer iteration.
  [[nodiscard]] virtual StepObservers& observers() = 0;
  [[nodiscard]] const DistributedVectors& vectors() const { return vectors_; }
  /// The signs of p . A p that all solves since reset() saw.
  [[nodiscard]] const CurvatureSigns& curvature_signs() const { return curvature_signs_; }

 protected:
  struct Attempt {
    OuterStep step;
    double z_square = 0.0;
    CurvatureSigns signs;
  };
  /// Part of lay_out(), for vectors of its own.
  virtual void lay_out_steps() {}
  /// An outer iteration up to z; x stays.
  virtual Attempt attempt(double shift, bool asks_to_stop) = 0;

  OuterStepGuard* guard_ = nullptr;
  DistributedVectors vectors_;
  LinearOperator& matrix_;
  HugePageVector x_;
  HugePageVector z_;

 private:
  CurvatureSigns curvature_signs_;
  int restored_number_ = 0;
};

/// A kind of outer iteration. A new one is one file that defines its row, and its entry in iteration_table().
struct IterationRow {
  std::string_view name;  ///< before the class, "npb:S"
  std::string_view description;
  OuterCounts counts;
  bool can_be_guarded = false;  ///< Guard knows its products and sums
  bool is_predicted = false;    ///< the performance model counts its calls
  std::unique_ptr<OuterIteration> (*make)(LinearOperator& matrix, PhaseTimer& timer, int thread_count);
};
/// All kinds; the first one is that of the benchmark.
std::span<const IterationRow> iteration_table();
/// The kind of a problem.
const IterationRow& iteration_of(const Problem& problem);
/// The class of a text "S", or "NAME:S" with the name of a kind; empty where there is none. Only the benchmark has a reference.
std::optional<Problem> class_named(std::string_view text);

}  // namespace cg2d
