#pragma once

// Vector operations of a solver on several ranks: local ones on this rank's pieces, sums over all ranks, each
// in its phase.

#include <algorithm>
#include <cassert>
#include <type_traits>

#include "cg/solver/linear_operator.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {

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

}  // namespace cg2d
