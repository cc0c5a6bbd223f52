#pragma once

// Conjugate gradients work with these: the interface of q = A p, whatever A is made of; vector operations on several ranks, local ones and sums over
// all ranks, each in its phase; and preconditioners, operators M that are easy to invert and near A.

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <type_traits>

#include "cg/base/interface.hpp"
#include "cg/solver/vector_ops.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {

/// A symmetric operator on vectors that are cut into pieces, one for each rank that takes part. CG uses it as
///   write operand(), apply(), read result().
/// apply() and sum_over_ranks() are collective over these ranks and called in the same order by all of them.
/// Not thread-safe.
class LinearOperator : public Interface {
 public:
  /// Elements of this rank's piece of every vector; may be 0.
  virtual size_t local_size() const = 0;
  /// This rank's piece of p, local_size() doubles, which the caller writes before apply(). Call it again
  /// before p is written again, unless all ranks have come through a sum_over_ranks() since the last apply().
  [[nodiscard]] virtual Piece operand() = 0;
  /// q = A p; leaves the operand as it is. Collective.
  virtual void apply() = 0;
  /// This rank's piece of q, local_size() doubles, valid until the next apply().
  virtual ConstPiece result() const = 0;
  /// p . q of this rank's piece, where the last apply() has computed it by the way; else empty.
  virtual std::optional<double> own_product() const { return std::nullopt; }
  /// Adds each number over all ranks: the same bits on every rank. As many numbers as one of
  /// comm::Communicator::scalar_counts says. Collective. With one rank there is nothing to do.
  virtual void sum_over_ranks(std::span<double> values) = 0;
  /// The sum of one number of each rank. Collective.
  [[nodiscard]] double sum_of_ranks(double value) {
    std::array<double, 1> sum{value};
    sum_over_ranks(sum);
    return sum[0];
  }
  /// sum_over_ranks() in two halves, with products but no other sum between them; values must live until the
  /// second one. The operand is as after no sum: operand() is called before it is written again. An operator
  /// that can do no better sums in the first half.
  virtual void begin_sum_over_ranks(std::span<double> values) { sum_over_ranks(values); }
  virtual void finish_sum_over_ranks() {}

  /// Where products and sums over ranks have the same bits in any order: no less than the order of A, a power of two; 0 elsewhere.
  /// Then vectors take maximum_over_ranks() before each dot product, and two numbers for its sum.
  virtual double most_terms() const { return 0.0; }
  /// The largest of all ranks' numbers. Collective. Only where most_terms() is not 0.
  [[nodiscard]] virtual double maximum_over_ranks(double value) { return value; }

  /// Between true and false, products and sums are none of the steps that observers of this operator follow. Collective.
  virtual void set_aside(bool /*is_aside*/) {}

  /// Vector operations that all products so far needed beside the products themselves.
  virtual VectorWork update_work() const { return {}; }
};

/// Holds references: operator and timer must outlive it.
class DistributedVectors {
 public:
  /// The operator knows over which ranks the vectors are distributed. times_products: for an operator that has no phases of its own.
  DistributedVectors(LinearOperator& matrix, PhaseTimer& timer, int thread_count, bool times_products = false)
      : matrix_(matrix), timer_(timer), local_(thread_count), times_products_(times_products) {
    if (matrix.most_terms() == 0.0) return;
    local_.make_exact(matrix.most_terms(),
                      [&matrix](double value) { return matrix.maximum_over_ranks(value); });
  }

  /// The array that terms(VectorOps&) returns, each number summed over all ranks. Collective, in one message
  /// per step of the sum. Dot products come first in the array, in the order in which they are computed; other numbers are whole
  /// ones, where sums must be reproducible.
  template <typename Terms>
  [[nodiscard]] auto sums(const Terms& terms) {
    std::invoke_result_t<const Terms&, VectorOps&> values{};
    sums_into(values, [&](VectorOps& local) { values = terms(local); });
    return values;
  }
  /// values := the numbers that terms(VectorOps&) writes to them, each summed over all ranks.
  template <typename Terms>
  void sums_into(std::span<double> values, const Terms& terms) {
    const auto timed = timer_.scope(Phase::dot);
    terms(local_);
    if (local_.is_exact()) {
      sum_exactly(values);
    } else {
      matrix_.sum_over_ranks(values);
    }
  }
  /// sums() in two halves: values := the array that terms(VectorOps&) returns, summed when finish_sums()
  /// returns. Products may be made in between, other sums not; values must live until then.
  template <typename Values, typename Terms>
  void begin_sums(Values& values, const Terms& terms) {
    assert(!local_.is_exact());
    const auto timed = timer_.scope(Phase::dot);
    values = terms(local_);
    matrix_.begin_sum_over_ranks(values);
  }
  void finish_sums() {
    const auto timed = timer_.scope(Phase::dot);
    matrix_.finish_sum_over_ranks();
  }
  /// x . y over all ranks: the same bits on every rank. Collective.
  [[nodiscard]] double dot(ConstPiece x, ConstPiece y) {
    return sums([&](VectorOps& local) { return std::array{local.dot(x, y)}; })[0];
  }
  /// values := x . y of each of several vectors over all ranks, as VectorOps::dots() takes them.
  void dots(ConstPiece x, ConstPiece y, std::span<double> values) {
    sums_into(values, [&](VectorOps& local) { local.dots(x, y, values); });
  }
  /// The operator's result := A times its operand.
  void multiply() {
    if (!times_products_) return matrix_.apply();
    const auto timed = timer_.scope(Phase::multiply);
    matrix_.apply();
  }
  /// The phase of the vector updates while it lives; local operations are called through it.
  struct Updates {
    PhaseTimer::Scope timed;
    VectorOps& local;

    VectorOps* operator->() const { return &local; }
  };
  [[nodiscard]] Updates updates() { return {timer_.scope(Phase::vector_updates), local_}; }

  /// This rank's operations outside of any phase, for setting up; they are counted all the same.
  [[nodiscard]] VectorOps& outside_of_phases() { return local_; }

  /// The work so far of this rank's dot products, and of its other operations here and in products.
  const VectorWork& dot_work() const { return local_.dot_work(); }
  VectorWork update_work() const { return local_.update_work() + matrix_.update_work(); }

 private:
  /// The numbers and the second halves of the dot products in one sum, which rounds none of them.
  void sum_exactly(std::span<double> values) {
    const auto lows = local_.lows();
    std::array<double, 8> both{};
    assert(lows.size() <= values.size() && values.size() <= both.size() / 2);
    std::ranges::copy(values, both.begin());
    std::ranges::copy(lows, both.begin() + static_cast<ptrdiff_t>(values.size()));
    matrix_.sum_over_ranks(std::span(both).first(values.size() + lows.size() <= 2 ? 2 : both.size()));
    for (size_t k = 0; k < values.size(); ++k)
      values[k] = k < lows.size() ? both[k] + both[values.size() + k] : both[k];
    local_.clear_lows();
  }

  LinearOperator& matrix_;
  PhaseTimer& timer_;
  VectorOps local_;
  bool times_products_;
};

/// Symmetric and, as A, definite. Needs no sum over ranks. All answers are the same on every rank.
class Preconditioner : public Interface {
 public:
  /// M = 1: then r . M^-1 r is r . r, and one dot product is enough.
  virtual bool is_identity() const { return false; }
  /// apply() multiplies with A, and so overwrites the operator's operand and result.
  virtual bool uses_products() const { return false; }
  /// M^-1 r on this rank's piece; may be r itself. Valid until the next call, and, where it uses_products(),
  /// until the operand of A is written: it may be that operand. Collective where it uses_products(). Called
  /// outside of all phases; its own work belongs to the phase of the vector updates.
  virtual ConstPiece apply(ConstPiece r, DistributedVectors& vectors) = 0;
  /// M^-1 where it is a diagonal, this rank's piece: then callers may apply it in passes of their own. Empty: it is none.
  virtual ConstPiece inverse_diagonal() const { return {}; }
  /// One line for the user on how it was made, such as a shift that was needed; empty: as usual.
  virtual std::string remark() const { return {}; }
};

/// M = 1. Copies nothing and computes nothing.
class IdentityPreconditioner final : public Preconditioner {
 public:
  bool is_identity() const override { return true; }
  ConstPiece apply(ConstPiece r, DistributedVectors& /*vectors*/) override { return r; }
};

}  // namespace cg2d
