#pragma once

// The guard of outer iterations, and of a solve of a user's system, against soft errors.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cg/run/guard/faults.hpp"
#include "cg/run/guard/guard_checks.hpp"
#include "cg/run/guard/guard_report.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// A solve by the classic form of CG, without preconditioner or with a diagonal one; all must outlive the solve.
struct GuardedSystem {
  ConjugateGradient& solver;                      ///< on the operator that the guard gave
  std::span<const double> inverse_diagonal = {};  ///< M^-1, this rank's piece; empty without preconditioner
  int most_iterations = 0;
};

/// Checks as GuardCheck lists them, and makes faults, both as the options ask for.
///
///     who finds       what follows                                              when all ranks know
///     one rank        it sets its flag, and goes on as if nothing had been      -
///     all ranks       the flag travels with the next sum over all ranks         after that sum
///     all ranks       the guard ends the attempt                                after a step, or at its end
///     all ranks       they gather what each found: judge()                      -
///
/// 1. The operations over all ranks of an attempt do not depend on what one rank alone has found.
/// 2. A clean attempt gives the bits of one without a guard, as far as a sum over all ranks does not depend on how many
///    numbers it takes.
///
/// An attempt is one outer iteration. Of a solve it is a segment, which ends after each hundredth iteration, and where the
/// solve ends. There x - A z is computed anew, and where nothing was found, x, r, p and the numbers of CG are kept, for a later
/// attempt to go on from. An end that is neither a solution nor a limit (not positive definite, stagnated, not finite) holds when a
/// second attempt meets it, too. Ranks decide by numbers as they came from sums over all ranks: a fault in the state of one rank does
/// not part the ranks.
///
/// The same check, rank and product in two attempts one after the other, or most_attempts attempts: the last one is refused, on all ranks
/// alike.
class Guard final : public OuterStepGuard, public ProductObserver, private LinearOperator {
 public:
  /// checksums: of this rank's block, for checks. The group and the operator must outlive this. Collective where the options ask for checks.
  Guard(const GuardOptions& options, comm::RankGroup& group, const comm::BlockLayout& layout,
        AssembledOperator& assembled, std::optional<ProductChecksums> checksums);

  [[nodiscard]] LinearOperator& guarded() override {
    matrix().set_observer(this);
    return *this;
  }
  /// The next outer iterations are 1, 2, ... of so many. Faults are made in the first repetition.
  void begin_repetition(int outer_step_count);
  /// Solves as solve() of a system; empty where an attempt was refused, for reason(). Once. Collective. Cost:
  /// one product and some vectors copied per segment, beside the checks.
  std::optional<SystemSolveResult> solve(const GuardedSystem& system, const SystemVectors& vectors,
                                         const StopRule& stop);
  /// Why an attempt was refused, in one line; the same on every rank.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// The report since the beginning. whole_s: the time of all repetitions, or of the solve. Collective.
  [[nodiscard]] GuardReport report(double whole_s) const;

  bool before_product() override;
  void after_product() override;
  void before_step() override;
  bool after_step(const CgState& state) override;
  void before_attempt(const GuardedVectors& vectors) override;
  [[nodiscard]] AttemptVerdict verdict() override;

  static constexpr int most_attempts = 10;
  static constexpr int steps_per_segment = 100;
  /// Faults are made in this iteration of a solve at the latest.
  static constexpr int last_faulty_iteration = 100;
  /// The block is read once more in so many parts.
  static constexpr int seal_share_count = 16;

 private:
  /// A state of a solve to go on from, with the check of the steps so far.
  struct Kept : SolveState {
    StepRelation relation;
  };

  // The operator, whose products and sums are watched.
  [[nodiscard]] std::size_t local_size() const override { return matrix().local_size(); }
  [[nodiscard]] std::span<double> operand() override { return operand_ = matrix().operand(); }
  [[nodiscard]] std::span<const double> result() const override { return matrix().result(); }
  [[nodiscard]] double most_terms() const override { return matrix().most_terms(); }
  [[nodiscard]] double maximum_over_ranks(double value) override {
    return matrix().maximum_over_ranks(value);
  }
  [[nodiscard]] std::span<const Phase> phases() const override { return matrix().phases(); }
  [[nodiscard]] VectorWork update_work() const override { return matrix().update_work(); }
  void apply() override;
  void sum_over_ranks(std::span<double> values) override;
  void set_aside(bool is_aside) override { is_aside_ = is_aside; }
  [[nodiscard]] AssembledOperator& matrix() const { return assembled_.matrix(); }

  [[nodiscard]] bool is_of_a_solve() const { return place_.outer_step == of_a_solve; }
  void begin(int outer_step_count, int product_count);
  void flip(FaultTarget target, std::span<double> first, std::span<double> second = {});
  /// Does work, which may be within other such work, and adds its time to that of the checks.
  template <typename Work>
  void timed(const Work& work);
  void measure_residual();
  void sum_with_measures(std::span<double> values);
  [[nodiscard]] CgState agreed(const CgState& state);
  void keep(const CgState& state);
  [[nodiscard]] bool is_trusted(const SystemSolveResult& result);
  [[nodiscard]] AttemptVerdict judge(int number, bool is_last);
  void note(GuardCheck check, const CheckedError& error, double share = 0.0);
  void note(GuardCheck check, bool holds) { note(check, CheckedError{.error = holds ? 0.0 : 1.0}); }

  GuardOptions options_;
  comm::RankGroup& group_;
  AssembledOperator& assembled_;
  std::optional<ProductChecksums> checksums_;
  std::optional<MatrixChecksum> seal_;
  std::vector<Fault> faults_;  // of all ranks; what has become of this rank's own
  bool injects_ = false;
  MatrixScale scale_;
  GuardReport report_;  // with this rank's figures, without options and faults
  std::string reason_;
  int failed_attempts_ = 0;  // one after the other
  int timed_depth_ = 0;

  std::span<double> operand_;  // as the solver has written it
  GuardedVectors vectors_;
  SolvePlace place_;  // the outer iteration under way, or of_a_solve; and the last product
  int outer_step_count_ = 0;

  // Of a solve:
  ConjugateGradient* solver_ = nullptr;
  std::span<const double> inverse_diagonal_;
  double guess_norm_ = 0.0;  // norm of the x that the solve begins with
  Kept kept_;                // at the beginning of the attempt
  Kept next_;                // at its end
  int doubt_count_ = 0;
  SystemSolveResult doubted_;  // the last end that is to be confirmed

  /// The state of an attempt.
  struct Attempt {
    Detection found{};  // the first error of this rank
    StepRelation relation{};
    int steps_done = 0;
    int product_count = 0;
    int done_of_step = -1;     // its product and sums; -1: outside of a step
    bool has_stepped = false;  // since the residual was computed anew
    bool is_first_state = true;
    bool is_segment_end = false;
    bool is_agreed = false;         // all ranks know that one has found something
    std::size_t measure_count = 0;  // that the next sum takes with it
  } attempt_;
  bool is_aside_ = false;
  CgState summed_;  // the state by sums over all ranks
  // This rank's measures of a product: the square of q by M^-1; or those of b - A x - r by M^-1, and of x by M.
  std::array<double, 2> measures_{};
};

}  // namespace cg2d
