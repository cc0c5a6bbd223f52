#pragma once

// q = A p for A = V W V^T + d * 1, without A: two sparse products.

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/solver/block_operator.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/vector_ops.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {

/// Applies V^T, then W, then V, each product on the whole grid of ranks in the phases of the benchmark. The rules
/// of the benchmark forbid it: its matrix must be assembled. It shows what that rule costs, and checks the
/// assembled product. Holds references: all must outlive it.
class FactoredOperator final : public LinearOperator {
 public:
  /// `transposed`, `factor`: V^T and V, on two communicators of the same layout and ranks. weights: W, of this
  /// rank's piece. diagonal: d.
  FactoredOperator(BlockOperator& transposed, BlockOperator& factor, std::vector<double> weights,
                   double diagonal, PhaseTimer& timer, int thread_count)
      : transposed_(transposed),
        factor_(factor),
        weights_(std::move(weights)),
        diagonal_(diagonal),
        timer_(timer),
        vectors_(thread_count),
        p_(transposed.operand()),
        q_(transposed.local_size()) {}

  [[nodiscard]] std::size_t local_size() const override { return q_.size(); }
  [[nodiscard]] std::span<double> operand() override { return transposed_.operand(); }
  [[nodiscard]] std::span<const double> result() const override { return q_; }
  void sum_over_ranks(std::span<double> values) override { transposed_.sum_over_ranks(values); }
  [[nodiscard]] std::span<const Phase> phases() const override { return factor_.phases(); }
  [[nodiscard]] std::string_view why_not_conforming() const override {
    return "the matrix is applied as two sparse products, and never assembled";
  }
  [[nodiscard]] VectorWork update_work() const override {
    return vectors_.update_work() + transposed_.update_work() + factor_.update_work();
  }

  void apply() override {
    transposed_.apply();
    update([&] { vectors_.multiply(weights_, transposed_.result(), factor_.operand()); });
    factor_.apply();
    update([&] {
      vectors_.copy(factor_.result(), q_);
      vectors_.add_scaled(diagonal_, p_, q_);
    });
  }

 private:
  template <typename Updates>
  void update(const Updates& updates) {
    const auto timed = timer_.scope(Phase::vector_updates);
    updates();
  }

  BlockOperator& transposed_;
  BlockOperator& factor_;
  std::vector<double> weights_;
  double diagonal_;
  PhaseTimer& timer_;
  VectorOps vectors_;
  std::span<const double> p_;  // the operand, which the product with V^T leaves as it is
  HugePageVector q_;
};

}  // namespace cg2d
