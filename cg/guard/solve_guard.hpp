#pragma once

// The guard of the benchmark's iteration against soft errors: checks, agreement, and outer iterations made again.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/guard/faults.hpp"
#include "cg/guard/guard_report.hpp"
#include "cg/guard/matrix_seal.hpp"
#include "cg/guard/product_checksums.hpp"
#include "cg/solver/stepped_solver.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The parts of a solver that a guard watches; all must outlive it.
struct GuardedParts {
  comm::RankGroup& group;
  const comm::BlockLayout& layout;
  comm::Communicator& communicator;
  BlockProduct& product;
  int thread_count = 1;
};

/// Checks as GuardCheck lists them, and makes faults, both as the options ask for.
///
///     who finds       what follows                                              when all ranks know
///     one rank        it sets its flag, and goes on as if nothing had been      -
///     all ranks       the flag travels with the next sum over all ranks         after that sum
///     all ranks       the solve ends after its step; the attempt runs to its    after the sum of zeta
///                     last sum
///     all ranks       they gather what each found, and begin the attempt again  -
///
/// 1. The operations over all ranks of an attempt do not depend on what one rank alone has found.
/// 2. The same check, rank and product twice in one outer iteration, or most_attempts attempts: the outer
///    iteration is refused, on all ranks alike.
/// 3. A clean attempt gives the bits of one without a guard, as far as a sum over all ranks does not depend on how many numbers
///    it takes.
class SolveGuard final : public SolverGuard {
 public:
  /// checksums: of this rank's block; they may go when this is made. Collective where the options ask for checks.
  SolveGuard(const GuardOptions& options, const GuardedParts& parts, const ProductChecksums* checksums);
  SolveGuard(const SolveGuard&) = delete;
  SolveGuard& operator=(const SolveGuard&) = delete;
  ~SolveGuard() override;

  /// The next outer iterations are 1, 2, ... of so many. Faults are made in the first repetition.
  void begin_repetition(int outer_step_count);
  /// What has been done since the beginning. Collective. repetitions_s: their time together.
  [[nodiscard]] GuardReport report(double repetitions_s) const;

  [[nodiscard]] LinearOperator& guarded(LinearOperator& matrix) override;
  void watch_residual(std::span<double> residual) override { residual_ = residual; }

  bool before_product() override;
  void after_product() override;
  bool after_step(const CgState& state) override;
  void before_attempt(std::span<double> z) override;
  void after_solve(std::span<const double> residual) override;
  [[nodiscard]] AttemptVerdict verdict() override;
  /// Why the last verdict refused an attempt, in one line; the same on every rank.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  static constexpr int most_attempts = 10;
  /// An outer iteration reads a part of the block once more; the last one of a repetition all of it.
  static constexpr int seal_share_count = 16;

 private:
  class Operator;
  class Timed;
  /// The numbers of a CG step, and the tolerance of its relation, relative to rho + next_rho.
  struct StepNumbers {
    double alpha = 0.0;
    double rho = 0.0;
    double next_rho = 0.0;
    double next_direction_square = 0.0;  // p . p
    double tolerance = 0.0;
  };
  enum class Awaited { nothing, step_product, residual_product };

  void sum_over_ranks(LinearOperator& matrix, std::span<double> values);
  void after_apply(LinearOperator& matrix);
  void judge_residual();
  void check_seal();
  void note(GuardCheck check, const CheckedError& error, double share = 0.0);
  void note(GuardCheck check, bool holds);
  [[nodiscard]] FaultInjector::Moment moment() const {
    return {.outer_step = outer_step_, .product = product_number_};
  }
  [[nodiscard]] Detection first_of_all_ranks();

  GuardOptions options_;
  GuardedParts parts_;
  std::optional<ProductChecksums> checksums_;
  std::optional<MatrixSeal> seal_;
  std::optional<FaultInjector> injector_;
  std::unique_ptr<Operator> operator_;
  double norm_ = 0.0;         // at least || A ||
  double longest_row_ = 0.0;  // entries in any row of the matrix, at most

  std::span<double> residual_;     // of the solver
  HugePageVector solve_residual_;  // r by the recurrence, at the end of a solve
  std::span<double> z_;
  std::span<double> operand_;  // where the solver writes p
  int outer_step_ = 0;
  int outer_step_count_ = 0;
  int repetition_ = 0;

  // Of an attempt:
  int product_number_ = 0;
  bool is_solving_ = false;
  Awaited awaited_ = Awaited::nothing;
  int sums_after_product_ = 0;
  double product_square_ = 0.0;  // q . q of the step
  StepNumbers last_step_;
  double largest_rho_ = 0.0;
  double difference_square_ = 0.0;  // of the two residuals
  double own_difference_square_ = 0.0;
  double z_square_ = 0.0;
  Detection found_;
  bool is_agreed_ = false;

  std::string reason_;
  int failed_attempts_ = 0;  // of the outer iteration
  Detection last_failure_;

  std::array<std::int64_t, guard_check_count> check_counts_{};
  std::array<double, guard_check_count> largest_ratios_{};
  std::vector<Detection> detections_;
  int rollback_count_ = 0;
  double time_s_ = 0.0;
};

}  // namespace cg2d
