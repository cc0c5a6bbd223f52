#pragma once

// The checks of one rank's block and of a solver's steps, and the record of what they found: what all guards have in common.

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cg/base/sample.hpp"
#include "cg/run/guard/blocked_sums.hpp"
#include "cg/run/guard/checksums.hpp"
#include "cg/run/guard/faults.hpp"
#include "cg/run/guard/guard_report.hpp"
#include "cg/run/guard/step_relation.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/npb_iteration.hpp"
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

/// The vectors of the solver, before a product.
struct GuardedVectors {
  std::span<double> operand;
  std::span<double> residual;
  std::span<double> solution;
};

/// The check of the steps so far. A copy is the place to go on from.
struct CheckedSteps {
  StepRelation relation{};
  double largest_rho = 0.0;
};

/// The product whose measures the next sum over all ranks takes with it.
enum class Awaited { nothing, step_product, residual_product };

/// Squares of the norms of a difference of two residuals, and of the operand of the product in one of them.
struct ResidualSquares {
  double difference = 0.0;
  double operand = 0.0;
  double own_difference = 0.0;  ///< of this rank's piece
};

/// An attempt is the part of a solve that is made again where an error was found.
///
///     who finds       what follows                                              when all ranks know
///     one rank        it sets its flag, and goes on as if nothing had been      -
///     all ranks       the flag travels with the next sum over all ranks         after that sum
///     all ranks       the guard ends the attempt                                after a sum at its end
///     all ranks       they gather what each found: judge()                      -
///
/// 1. The operations over all ranks of an attempt do not depend on what one rank alone has found.
/// 2. The same check, rank and product in two attempts one after the other, or most_attempts attempts: the last one is refused, on
///    all ranks alike.
///
/// Faults on purpose are made where the guard tells of a place in which they can be; what options do not ask for is passed over.
class GuardChecks {
 public:
  /// checksums: of this rank's block; they may go when this is made. Collective where the options ask for checks.
  GuardChecks(const GuardOptions& options, const GuardedParts& parts, const ProductChecksums* checksums);

  [[nodiscard]] const GuardOptions& options() const { return options_; }
  [[nodiscard]] const GuardedParts& parts() const { return parts_; }

  /// The checks' scale becomes that of M^-1/2 A M^-1/2 for the diagonal M of A.
  void scale_by_diagonal() { scale_.norm = scale_.longest_row; }
  [[nodiscard]] CheckedSteps no_steps() const { return {.relation = StepRelation(scale_)}; }

  /// The next faults; none yet where this was not called.
  void set_faults(std::vector<Fault> faults) { injector_ = {std::move(faults), parts_.group.rank()}; }
  void stop_injecting() { injects_ = false; }
  /// Faults on purpose, at the present place.
  void flip(FaultTarget target, std::span<double> vector);

  void begin_attempt(const CheckedSteps& steps);
  [[nodiscard]] const CheckedSteps& steps() const { return steps_; }
  /// The place of what is found from now on.
  void set_place(int outer_step, int product) { place_ = {.outer_step = outer_step, .product = product}; }
  /// Around a product of the block. is_first: of the attempt. False: the block must not be multiplied.
  [[nodiscard]] bool before_product(const GuardedVectors& vectors, bool is_first, bool takes_faults);
  void after_product(bool takes_faults);
  /// The next sum takes the measures of that product with it.
  void await(Awaited awaited) { awaited_ = awaited; }
  /// Sums the values over all ranks, and with them measure(awaited) of this rank (the square of a step's product; those of ResidualSquares)
  /// and whether any rank has found something: no message is added. The sums of a residual's product, where that was awaited.
  std::optional<ResidualSquares> sum(LinearOperator& matrix, std::span<double> values,
                                     const std::function<TwoSums(Awaited)>& measure);
  /// has_sums: the state has the numbers that came from the sums.
  void check_step(const CgState& state, bool has_sums = true);
  /// After so many products. further_norm: of vectors that the operand came from.
  void check_residual(const ResidualSquares& squares, int product_count, double further_norm = 0.0);
  /// A part of the block once more, another one for each number; all of it where that is the last time.
  void check_seal(int number, bool is_last);

  [[nodiscard]] bool has_found() const { return found_.is_found; }
  /// All ranks know that one has found something.
  [[nodiscard]] bool is_agreed() const { return is_agreed_; }
  /// After an attempt: accepted, or where any rank has found something again, or refused. Collective where it has.
  [[nodiscard]] AttemptVerdict judge(bool has_any_found);
  /// Why judge() refused, in one line; the same on every rank.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// whole_s: the time of which the checks' is a part. Collective.
  [[nodiscard]] GuardReport report(double whole_s) const;

  /// Adds the time of a scope, which may be within another one, to that of the checks.
  class Timed {
   public:
    explicit Timed(GuardChecks& checks) : checks_(checks) { ++checks_.timed_depth_; }
    ~Timed() {
      if (--checks_.timed_depth_ == 0 && checks_.is_timed_) checks_.time_s_ += stopwatch_.seconds();
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

   private:
    GuardChecks& checks_;
    Stopwatch stopwatch_;
  };
  void begin_timing() { is_timed_ = true; }

  static constexpr int most_attempts = 10;
  /// The block is read once more in so many parts.
  static constexpr int seal_share_count = 16;

 private:
  void note(GuardCheck check, const CheckedError& error, double share = 0.0);
  void note(GuardCheck check, bool holds);
  /// As many values and measures in all as one sum takes, and the flag.
  void sum_with_flag(LinearOperator& matrix, std::span<double> values, std::span<double> measures);
  [[nodiscard]] Detection first_of_all_ranks();

  GuardOptions options_;
  GuardedParts parts_;
  std::optional<ProductChecksums> checksums_;
  std::optional<MatrixChecksum> seal_;
  FaultInjector injector_;
  bool injects_ = true;
  MatrixScale scale_;
  FaultInjector::Moment place_;

  // State of an attempt:
  CheckedSteps steps_;
  Awaited awaited_ = Awaited::nothing;
  double product_square_ = 0.0;  // of the product of a step
  bool is_agreed_ = false;
  Detection found_;  // the first one

  int failed_attempts_ = 0;
  Detection last_failure_;
  std::string reason_;

  std::array<std::int64_t, guard_check_count> check_counts_{};
  std::array<double, guard_check_count> largest_ratios_{};
  std::vector<Detection> detections_;
  int rollback_count_ = 0;
  bool is_timed_ = false;
  int timed_depth_ = 0;
  double time_s_ = 0.0;
};

}  // namespace cg2d
