#pragma once

// The checks of one rank's block, and the record of what they found: what all guards have in common.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cg/base/sample.hpp"
#include "cg/run/guard/faults.hpp"
#include "cg/run/guard/guard_report.hpp"
#include "cg/run/guard/matrix_checksum.hpp"
#include "cg/run/guard/product_checksums.hpp"
#include "cg/run/guard/step_relation.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/outer_iteration.hpp"
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

/// The product whose measures the next sum over all ranks takes with it.
enum class Awaited { nothing, step_product, residual_product };

/// The sums of all ranks that a guard judges by.
struct AwaitedSums {
  Awaited awaited = Awaited::nothing;
  double product_square = 0.0;     ///< of the product of a step
  double difference_square = 0.0;  ///< of the two residuals
  double vector_square = 0.0;      ///< of the operand of the residual's product
  bool is_agreed = false;          ///< all ranks know that one has found something
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
class GuardChecks {
 public:
  /// checksums: of this rank's block; they may go when this is made. Collective where the options ask for checks.
  GuardChecks(const GuardOptions& options, const GuardedParts& parts, const ProductChecksums* checksums);

  [[nodiscard]] const GuardOptions& options() const { return options_; }
  [[nodiscard]] const GuardedParts& parts() const { return parts_; }
  /// Without M. Where the options ask for checks.
  [[nodiscard]] const MatrixScale& scale() const { return scale_; }

  /// The next faults; none yet where this was not called.
  void set_faults(std::vector<Fault> faults) { injector_.emplace(std::move(faults), parts_.group.rank()); }
  /// The faults to be made now: nullptr where there are none.
  [[nodiscard]] FaultInjector* injector() { return injector_ && injects_ ? &*injector_ : nullptr; }
  void stop_injecting() { injects_ = false; }

  void begin_attempt() { found_ = {}; }
  /// The place of what is found from now on.
  void set_place(int outer_step, int product) { place_ = {.outer_step = outer_step, .product = product}; }
  [[nodiscard]] const FaultInjector::Moment& place() const { return place_; }

  /// Faults on purpose, in the product of the block before it is sent.
  void flip_block_product();
  void check_columns();
  void check_product();
  /// The pieces share, share + share_count, ... of the block.
  void check_seal(int share, int share_count);
  void note(GuardCheck check, const CheckedError& error, double share = 0.0);
  void note(GuardCheck check, bool holds);
  /// Sums the values over all ranks, and with them this rank's measures of the awaited product (the square of a step's; the squares of the error and
  /// of the operand of a residual's) and whether any rank has found something.
  void sum_awaited(LinearOperator& matrix, std::span<double> values, std::array<double, 2> measures,
                   AwaitedSums& sums) const;

  [[nodiscard]] bool has_found() const { return found_.is_found; }
  /// A column number is out of range, and stays so until the attempt ends.
  [[nodiscard]] bool must_not_multiply() const {
    return found_.is_found && found_.check == GuardCheck::column_range;
  }

  /// After an attempt in which any rank has found something: again, or refused. Collective.
  [[nodiscard]] AttemptVerdict judge();
  /// The next attempt is at another part of the solve.
  void accept() { failed_attempts_ = 0; }
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

 private:
  /// As many values and measures in all as one sum takes, and the flag.
  [[nodiscard]] bool sum_with_flag(LinearOperator& matrix, std::span<double> values,
                                   std::span<double> measures) const;
  [[nodiscard]] Detection first_of_all_ranks();

  GuardOptions options_;
  GuardedParts parts_;
  std::optional<ProductChecksums> checksums_;
  std::optional<MatrixChecksum> seal_;
  std::optional<FaultInjector> injector_;
  bool injects_ = true;
  MatrixScale scale_;
  FaultInjector::Moment place_;

  Detection found_;  // first detection of the attempt
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
