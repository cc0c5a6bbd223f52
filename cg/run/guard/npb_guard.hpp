#pragma once

// The guard of the benchmark's iteration against soft errors: checks, agreement, and outer iterations made again.

#include <span>
#include <string>

#include "cg/base/process_memory.hpp"
#include "cg/run/guard/guard_checks.hpp"
#include "cg/run/guard/watched_operator.hpp"
#include "cg/solver/npb_iteration.hpp"

namespace cg2d {

/// Checks as GuardCheck lists them, and makes faults, both as the options ask for. What GuardChecks says of attempts holds for outer iterations: found by one rank, agreed on with the sums of a step, and ended with the
/// sum of zeta. A clean attempt gives the bits of one without a guard, as far as a sum over all ranks does not depend on how many
/// numbers it takes.
class NpbGuard final : public GuardHooks, private WatchedOperator {
 public:
  /// checksums: of this rank's block; they may go when this is made. Collective where the options ask for checks.
  NpbGuard(const GuardOptions& options, const GuardedParts& parts, const ProductChecksums* checksums);

  /// The next outer iterations are 1, 2, ... of so many. Faults are made in the first repetition.
  void begin_repetition(int outer_step_count);
  /// The report since the beginning. Collective. repetitions_s: the time of all repetitions together.
  [[nodiscard]] GuardReport report(double repetitions_s) const { return checks_.report(repetitions_s); }

  [[nodiscard]] LinearOperator& guarded(LinearOperator& matrix) override { return watch(matrix); }
  void watch_residual(std::span<double> residual) override { residual_ = residual; }

  bool before_product() override;
  void after_product() override { checks_.after_product(true); }
  bool after_step(const CgState& state) override;
  void before_attempt(std::span<double> z) override;
  void after_solve(std::span<const double> residual) override;
  [[nodiscard]] AttemptVerdict verdict() override;
  /// Why the last verdict refused an attempt, in one line; the same on every rank.
  [[nodiscard]] const std::string& reason() const override { return checks_.reason(); }

 private:
  void apply() override;
  void sum_over_ranks(std::span<double> values) override;
  [[nodiscard]] TwoSums measures(Awaited awaited);

  GuardChecks checks_;
  std::span<double> residual_;     // the solver's r
  HugePageVector solve_residual_;  // r by the recurrence, at the end of a solve
  std::span<double> z_;
  int outer_step_ = 0;
  int outer_step_count_ = 0;
  int repetition_ = 0;

  // State of an attempt:
  int product_number_ = 0;
  bool is_solving_ = false;
  int sums_after_product_ = 0;
};

}  // namespace cg2d
