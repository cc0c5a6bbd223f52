#pragma once

// The guard of a solve of a user's system against soft errors.

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "cg/base/process_memory.hpp"
#include "cg/run/guard/guard_checks.hpp"
#include "cg/run/guard/watched_operator.hpp"
#include "cg/solver/block_operator.hpp"
#include "cg/solver/conjugate_gradient.hpp"

namespace cg2d {

/// A solve by the classic form of CG, without preconditioner or with a diagonal one; all must outlive the solve.
struct GuardedSystem {
  ConjugateGradient& solver;                      ///< on the operator that the guard gave
  std::span<const double> inverse_diagonal = {};  ///< M^-1, this rank's piece; empty without preconditioner
  int most_iterations = 0;
  /// Called where the solve goes back to its state after so many iterations; on all ranks.
  std::function<void(int)> goes_back = [](int) {};
};

/// Checks as GuardCheck lists them, and makes faults, both as the options ask for. An attempt is a segment of a solve: it ends after each
/// hundredth iteration, and where the solve ends. There x - A z is computed anew, and where nothing was found, x, r, p and the
/// numbers of CG are kept, for a later attempt to go on from. An end that is neither a solution nor a limit (not positive
/// definite, stagnated, not finite) holds when a second attempt meets it, too.
///
/// 1. Ranks decide by numbers as they came from sums over all ranks, which this guard keeps: a fault in the state of one rank
///    does not part the ranks.
/// 2. A clean solve gives the bits of one without a guard, as far as a sum over all ranks does not depend on how many numbers it takes.
class SolveGuard final : public ProductObserver, public StepObserver, private WatchedOperator {
 public:
  /// Arguments and errors as for GuardChecks.
  SolveGuard(const GuardOptions& options, const GuardedParts& parts, const ProductChecksums* checksums);

  /// The operator to solve with, in place of that of the block, whose products this observes from now on; valid as long as both live.
  [[nodiscard]] LinearOperator& guarded(BlockOperator& matrix) {
    matrix.set_observer(this);
    return watch(matrix);
  }
  /// Solves as solve() of a system; empty where an attempt was refused, for reason(). Once. Collective. Cost:
  /// one product and some vectors copied per segment, beside the checks.
  std::optional<SystemSolveResult> solve(const GuardedSystem& system, const SystemVectors& vectors,
                                         const StopRule& stop);
  [[nodiscard]] const std::string& reason() const { return checks_.reason(); }
  /// solve_s: the time of solve(). Collective.
  [[nodiscard]] GuardReport report(double solve_s) const { return checks_.report(solve_s); }

  bool before_product() override;
  void after_product() override { checks_.after_product(products_of_step_ == 1); }
  void before_step() override;
  bool after_step(const CgState& state) override;

  static constexpr int steps_per_segment = 100;
  /// Faults are made in this iteration at the latest.
  static constexpr int last_faulty_iteration = 100;

 private:
  class Stop;

  /// A state to go on from.
  struct Kept {
    HugePageVector x;
    HugePageVector residual;
    HugePageVector direction;
    CgState state;
    double replaced_norm = 0.0;
    CheckedSteps steps;
    bool has_steps = false;  // else x is all of it

    [[nodiscard]] CgSnapshot snapshot() const {
      return {.state = state, .replaced_norm = replaced_norm, .residual = residual, .direction = direction};
    }
  };

  void apply() override;
  void sum_over_ranks(std::span<double> values) override;
  void set_aside(bool is_aside) override;
  void record_sum_of_step(std::span<const double> values);
  void measure_residual();
  [[nodiscard]] double norm_of_guess();
  [[nodiscard]] CgState agreed(const CgState& state);
  void keep(const CgState& state);
  void begin_attempt();
  [[nodiscard]] bool is_trusted(const SystemSolveResult& result);
  [[nodiscard]] AttemptVerdict verdict(bool goes_on);

  GuardChecks checks_;
  ConjugateGradient* solver_ = nullptr;
  std::span<const double> inverse_diagonal_;
  std::span<const double> b_;
  std::span<double> x_;
  std::span<double> residual_;
  double guess_norm_ = 0.0;  // norm of the x that the solve begins with
  Kept kept_;                // at the beginning of the attempt
  Kept next_;                // at its end
  int segment_count_ = 0;    // that are done
  int product_count_ = 0;
  int doubt_count_ = 0;
  SystemSolveResult doubted_;  // the last end that is to be confirmed

  // State of an attempt:
  int steps_done_ = 0;
  int products_of_step_ = -1;  // -1: outside of a step
  int kept_products_ = -1;     // products_of_step_ of before, while products are set aside
  bool is_aside_ = false;
  bool has_stepped_ = false;  // since the residual was computed anew
  bool is_first_state_ = true;
  bool is_segment_end_ = false;
  int sums_of_step_ = 0;
  CgState summed_;            // the state by sums over all ranks
  TwoSums residual_squares_;  // this rank's: of the difference of b - A x and r by M^-1; of x by M
};

}  // namespace cg2d
