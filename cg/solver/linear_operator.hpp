#pragma once

// The interface of q = A p that conjugate gradients work with, whatever A is made of.

#include <optional>

#include "cg/base/interface.hpp"
#include "cg/solver/vector_ops.hpp"

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

}  // namespace cg2d
