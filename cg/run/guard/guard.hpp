#pragma once

// The guard of outer iterations, and of a solve of a user's system, against soft errors; and its checks: sums with short chains of additions, and so
// with small errors that can be bounded; checksums of a block's product, since the sum of q follows from p and the sums of the block's columns, and
// of its bytes, in the format of its kernel; and Meurant's relation between the numbers of a CG step. Each with the most that rounding explains.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/sample.hpp"
#include "cg/run/guard/guard_report.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/step_observer.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// Two sums over the same elements.
using TwoSums = std::pair<double, double>;

inline constexpr size_t block_of_sums = 512;
inline constexpr size_t lanes_of_sums = 8;

/// Adds add(element, first, second) of the elements 0 ... size-1 in blocks, each in lanes, which are vectorized: an element's work must
/// not depend on another's. (Without the pragma gcc 12 makes no vectors of them: 14 instead of 48 GB/s from a cache, Intel Xeon, 2026-11.)
template <typename Add>
TwoSums blocked_sums(size_t size, const Add& add) {
  TwoSums total;
  for (size_t begin = 0; begin < size; begin += block_of_sums) {
    const size_t end = std::min(begin + block_of_sums, size);
    std::array<double, lanes_of_sums> first{};
    std::array<double, lanes_of_sums> second{};
    size_t element = begin;
    for (; element + lanes_of_sums <= end; element += lanes_of_sums) {
#pragma omp simd
      for (size_t lane = 0; lane < lanes_of_sums; ++lane) add(element + lane, first[lane], second[lane]);
    }
    for (; element < end; ++element) add(element, first[0], second[0]);
    TwoSums block;
    for (size_t lane = 0; lane < lanes_of_sums; ++lane) {
      block.first += first[lane];
      block.second += second[lane];
    }
    total.first += block.first;
    total.second += block.second;
  }
  return total;
}

/// The sum of value(element), in the same blocks and lanes.
template <typename Value>
double blocked_sum(size_t size, const Value& value) {
  return blocked_sums(size, [&](size_t k, double& sum, double& /*unused*/) { sum += value(k); }).first;
}

/// A quantity that is zero but for rounding, and the most that rounding explains.
struct CheckedError {
  double error = 0.0;
  double tolerance = 0.0;

  /// False for NaN, and where the tolerance itself is not finite.
  bool holds() const;
  /// error / tolerance; 0 where both are 0.
  double ratio() const;
};

/// The checksums of one rank's block A as a kernel stores it, in exact arithmetic:
///
///     whole storage    1^T q_rows = c^T p_columns              with c = A^T 1
///     half storage     the same, and 1^T q_columns = d^T p_rows    with d = A 1
///     joined sums      1^T q_rows + 1^T q_columns = c^T p_columns + d^T p_rows    (KernelRow::joins_sums)
///
/// for A what is stored: one entry of each mirrored pair, and half of the diagonal. The identities hold for any order of
/// additions, so for every kernel and for products in parts.
///
/// Tolerance, to first order in u = 2^-53 (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1): q_i has an
/// error of at most k u sum_j |a_ij| |p_j|, where k is the number of entries in the row and some additions of parts and
/// threads; the sum of q and that of c_j p_j add as many u as their chains are long. Each of these is relative to
/// w^T |p| with w = |A|^T 1, and w^T |p| <= ||w|| ||p||. So the error is at most
///
///     u (k + chain of the sum of q + chain of c^T p + 2) ||w|| ||p||
///
/// The tolerance is twice that, for the terms of higher order and the rounding of c, w and the norms.
class ProductChecksums {
 public:
  /// block: as generated, the whole of it. Local. Cost: one pass over the entries.
  ProductChecksums(const kernels::CsrBlock& block, const kernels::KernelRow& kernel,
                   const comm::BlockLayout& layout, int rank);

  /// The worse one of the two directions, after the product and before anything of it is sent. low_partial: the second halves of q in
  /// a reproducible product, else empty. Local. Cost: one pass over the block's p, q and weights.
  CheckedError error_of(comm::Communicator& communicator, std::span<const double> low_partial = {}) const;

  double largest_column_sum = 0.0;  ///< the largest sum of |a_ij| over a column of the block, whole
  int64_t longest_row = 0;          ///< the most entries in a row of the block, whole

 private:
  struct Direction {
    std::vector<double> weights;  // c, or d
    double absolute_norm = 0.0;   // || w ||
    double chain = 0.0;           // entries of the longest row of this direction
  };
  /// The sum of q less what it should be, with its sign.
  static CheckedError excess_of(const Direction& direction, std::span<const double> p,
                                std::span<const double> q, std::span<const double> q_low);

  Direction by_columns_;
  Direction by_rows_;  // with half storage
  bool has_joined_sums_;
};

/// CRC-32C of each piece of the block's arrays, taken when it is made. Local.
class MatrixChecksum {
 public:
  /// The arrays must outlive this. Cost: one pass over them.
  MatrixChecksum(const std::vector<kernels::StoredArray>& arrays, int thread_count);

  /// Whether the pieces share, share + share_count, ... are as they were. Cost: a pass over them, on the threads.
  bool holds(int share, int share_count) const;

 private:
  struct Piece {
    std::span<const std::byte> bytes;
    uint32_t checksum = 0;
  };

  std::vector<Piece> pieces_;
  int thread_count_;
};

/// Measures of A, or, with M, of M^-1/2 A M^-1/2; at least.
struct MatrixScale {
  double norm = 0.0;         ///< || |A| ||
  double longest_row = 0.0;  ///< entries in any row
  double order = 0.0;        ///< rows
};

/// In exact arithmetic r_new . M^-1 r = 0, so r_new . M^-1 r_new = alpha^2 q . M^-1 q - rho, which is
/// alpha^2 q . M^-1 q / rho = 1 + beta (G. Meurant, The Lanczos and Conjugate Gradient Algorithms, SIAM 2006). Norms of r and q are those
/// of M^-1, norms of p those of M. The derivation of the tolerance is in the README of this room.
///
/// Local, trivially copyable: a copy is the place to go on from. Cost: some scalar operations per step.
class StepRelation {
 public:
  StepRelation() = default;
  explicit StepRelation(const MatrixScale& scale);

  /// product_square: q . M^-1 q of the step.
  [[nodiscard]] CheckedError after_step(const CgState& state, double product_square);
  /// The largest r . M^-1 r so far.
  double largest_rho() const { return largest_rho_; }

 private:
  /// The step before, and bounds that it leaves.
  struct Step {
    double alpha = 0.0;
    double beta_before = 0.0;  // beta of the step's own direction
    double rho = 0.0;
    double next_rho = 0.0;
    double direction_norm = 0.0;
    double product_norm = 0.0;
    double next_direction_norm = 0.0;
    double residual_overlap = 0.0;   // | r_new . r |
    double direction_overlap = 0.0;  // | r . p_before |
  };

  double dot_unit_ = 0.0;      // relative error of a dot product
  double product_unit_ = 0.0;  // error of x . A y, relative to ||x|| ||y||
  double largest_rho_ = 0.0;
  int replacement_count_ = -1;  // at the last step; -1: there was none
  Step last_;
};

// ---------------------------------------------------------------- the guard

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
class Guard final : public OuterStepGuard {
 public:
  /// checksums: of this rank's block, for checks. The group and the operator must outlive this. Collective where the options ask for checks.
  Guard(const GuardOptions& options, comm::RankGroup& group, const comm::BlockLayout& layout,
        AssembledOperator& assembled, std::optional<ProductChecksums> checksums);

  /// The next outer iterations are first, ... last. Faults are made in the first repetition, where they were drawn from 1, ... last: the same
  /// after a restart.
  void begin_repetition(int first, int last);
  /// Solves as the solver does, which is of the classic form of CG on the operator, which this observes; empty where an attempt was refused,
  /// for reason(). Once.
  /// inverse_diagonal: M^-1, this rank's piece; empty without preconditioner. Collective. Cost: one product and some vectors copied per
  /// segment, beside the checks.
  std::optional<SystemSolveResult> solve(ConjugateGradient& solver, std::span<const double> inverse_diagonal,
                                         int most_iterations, const SystemVectors& vectors,
                                         const StopRule& stop);
  /// Why an attempt was refused, in one line; the same on every rank.
  const std::string& reason() const { return reason_; }
  /// The report since the beginning. whole_s: the time of all repetitions, or of the solve. Collective.
  GuardReport report(double whole_s) const;

  bool before_product() override;
  void after_product() override;
  void after_apply() override;
  void sum_over_ranks(std::span<double> values) override;
  void set_aside(bool is_aside) override { is_aside_ = is_aside; }
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

  bool is_of_a_solve() const { return place_.outer_step == of_a_solve; }
  /// The product under way is one that only checks need.
  bool is_timed_product() const { return attempt_.done_of_step == -1 && attempt_.is_segment_end; }
  void begin(int outer_step_count, int product_count);
  void flip(FaultTarget target, std::span<double> first, std::span<double> second = {});
  /// Work of the checks, which may be within other such work: its time counts.
  void begin_timed();
  void end_timed();
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
  Stopwatch timed_since_;

  std::span<double> operand_;  // of the last product, as the solver has written it
  GuardedVectors vectors_;
  SolvePlace place_;         // the outer iteration under way, or of_a_solve; and the last product
  int last_outer_step_ = 0;  // by its number; 0: the untimed one

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
    bool is_agreed = false;    // all ranks know that one has found something
    size_t measure_count = 0;  // that the next sum takes with it
  } attempt_;
  bool is_aside_ = false;
  CgState summed_;  // the state by sums over all ranks
  // This rank's measures of a product: the square of q by M^-1; or those of b - A x - r by M^-1, and of x by M.
  std::array<double, 2> measures_{};
};

}  // namespace cg2d
