#pragma once

// Conjugate gradients on any LinearOperator, with any Preconditioner and StopRule, for one system or for several in lock-step.

#include "cg/solver/cg_recurrence.hpp"

namespace cg2d {

/// All that the rest of a solve depends on, besides b and x, after a step.
struct CgSnapshot {
  CgState state;               ///< as observers get it
  double replaced_norm = 0.0;  ///< norm of the last recomputed residual from which the recurrence began again
  ConstPiece residual;         ///< this rank's pieces of r and of the next direction
  ConstPiece direction;
};

/// A snapshot with its x, in memory of its own: this rank's pieces.
struct SolveState {
  HugePageVector x;
  HugePageVector residual;
  HugePageVector direction;
  CgState state;
  double replaced_norm = 0.0;

  CgSnapshot snapshot() const {
    return {.state = state, .replaced_norm = replaced_norm, .residual = residual, .direction = direction};
  }
};

/// A system, or several with the same matrix, and their solutions: this rank's pieces, which do not overlap. Of several systems the elements
/// of one row, one of each system, are neighbours.
struct SystemVectors {
  ConstPiece b;
  Piece x;
  bool starts_from_x = false;  ///< x holds a guess; else the solve begins with zeros
  /// State of an earlier solve to go on from, whose x is given; one system only.
  const CgSnapshot* snapshot = nullptr;
};

/// Several systems take one product for all of them, and one message where a single one sends one. Each has its own numbers, and ends by
/// itself: from then on its x does not change any more. Holds references: all must outlive it. Every operation is collective over the
/// operator's ranks and gives the same numbers, to the bit, on every rank.
class ConjugateGradient {
 public:
  /// The classic form of CG, or another row of the table. system_count: 1, or one of kernels::vector_counts for the classic form; operator and
  /// preconditioner work on vectors of all systems.
  ConjugateGradient(LinearOperator& matrix, Preconditioner& preconditioner, DistributedVectors& vectors,
                    const CgVariantRow& variant = cg_variant_table().front(), int system_count = 1);

  /// Goes on with an operator that has exchanged its layout: vectors of the length that it has now. Between solves.
  void lay_out();

  /// x := about A^-1 b. One result for each system, of which those that fail get the kept iterate where its residual, computed anew, is
  /// smaller; after not_finite x means nothing. Cost: that of iterate(), and one product and one sum for the residuals that are not known,
  /// and for kept iterates that are better by the recurrence.
  std::vector<SystemSolveResult> solve(const SystemVectors& vectors, const StopRule& stop);

  /// x := about A^-1 b, without the residual of an x that nothing has recomputed. A must be definite; positive or negative makes no
  /// difference unless to the stop rule. A solve from a snapshot, on the same grid, has the same bits as the one that it was taken from;
  /// its vectors are copied first. Systems whose right-hand side is zero end at once. Returns all systems as they end, valid until the next
  /// solve. Cost: for each step one product, two dot products with their sums and three other operations, before the first one a dot product and three
  /// others; one more product and one more sum from a given x, and one product and one sum for each step in which
  /// the stop rule says `converged`; nothing is allocated, but for the kept iterate at the start of the first solve
  /// (StopRule::keeps_best()), whose pages nobody touches before there is one, a vector the first time that some of several systems begin
  /// again, and the vectors of the classic form where rounding spoils another and it goes on instead.
  std::span<const CgSystem> iterate(const SystemVectors& vectors, const StopRule& stop);

  /// For observers within after_step(state): all that a later solve of the same single system needs to go on, besides x. The vectors are
  /// valid there only.
  CgSnapshot snapshot(const CgState& state) const;

  /// || b - A x || of one system, by one more product.
  [[nodiscard]] double residual_norm(ConstPiece b, ConstPiece x) { return residual_norms(b, x)[0]; }

  /// r: of the last solve by the recurrence, or b - A x after residual_norm(). Writing to it during a solve is for faults on
  /// purpose.
  [[nodiscard]] Piece residual() { return recurrence_->residual(); }

  /// Told of every step; of several systems with the state of the one whose residual is the largest part of its right-hand side.
  [[nodiscard]] StepObservers& observers() { return observers_; }
  /// Told of every step of one system, before those of all.
  [[nodiscard]] StepObservers& observers_of(int system) {
    return own_observers_[static_cast<size_t>(system)];
  }

 private:
  void begin(bool starts_from_x);
  void resume(const CgSnapshot& snapshot);
  void record_zeros();
  void step();
  [[nodiscard]] bool tell_of_step();
  void judge_step();
  void ask();
  void replace_residuals();
  void judge_replaced(CgSystem& system, double square);
  bool may_take_classic_form() const;
  bool take_classic_form();
  void finish();
  [[nodiscard]] PerSystem residual_norms(ConstPiece b, ConstPiece x);
  void take_kept(std::span<SystemSolveResult> results);

  CgParts parts_;
  const CgVariantRow& variant_;
  std::vector<CgSystem> systems_;
  StepObservers observers_;
  std::vector<StepObservers> own_observers_;  // of each system
  std::unique_ptr<CgRecurrence> recurrence_;  // of the variant, or of the classic form after it
  HugePageVector kept_x_;  // of the solve under way; a part of it that is resumed goes on with it
  // Of the solve under way, or of the last:
  LinearSystem pieces_;
  const StopRule* stop_ = nullptr;
  std::optional<int> steps_before_classic_;  // where it took the place of another form
};

}  // namespace cg2d
