#pragma once

// A solver's operator whose calls a guard sees.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "cg/solver/linear_operator.hpp"

namespace cg2d {

/// Takes the place of some operations of an operator; calls them itself.
class SumObserver : public Interface {
 public:
  virtual void record_operand(std::span<double> operand) = 0;
  virtual void apply(LinearOperator& matrix) = 0;
  /// Sums the values, and other numbers with them: no message is added.
  virtual void sum_over_ranks(LinearOperator& matrix, std::span<double> values) = 0;
  virtual void set_aside(bool /*is_aside*/) {}
};

/// The operator's own memory, for faults on purpose: const for its users only.
inline std::span<double> writable(std::span<const double> result) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  return {const_cast<double*>(result.data()), result.size()};
}

/// Holds references: both must outlive it.
class WatchedOperator final : public LinearOperator {
 public:
  WatchedOperator(SumObserver& watch, LinearOperator& matrix) : watch_(watch), matrix_(matrix) {}

  [[nodiscard]] std::size_t local_size() const override { return matrix_.local_size(); }
  [[nodiscard]] std::span<double> operand() override {
    const auto operand = matrix_.operand();
    watch_.record_operand(operand);
    return operand;
  }
  void apply() override { watch_.apply(matrix_); }
  [[nodiscard]] std::span<const double> result() const override { return matrix_.result(); }
  [[nodiscard]] std::optional<double> own_product() const override { return matrix_.own_product(); }
  void sum_over_ranks(std::span<double> values) override { watch_.sum_over_ranks(matrix_, values); }
  void set_aside(bool is_aside) override { watch_.set_aside(is_aside); }
  [[nodiscard]] double most_terms() const override { return matrix_.most_terms(); }
  [[nodiscard]] double maximum_over_ranks(double value) override { return matrix_.maximum_over_ranks(value); }
  [[nodiscard]] std::span<const Phase> phases() const override { return matrix_.phases(); }
  [[nodiscard]] std::string_view why_not_conforming() const override { return matrix_.why_not_conforming(); }
  [[nodiscard]] VectorWork update_work() const override { return matrix_.update_work(); }

 private:
  SumObserver& watch_;
  LinearOperator& matrix_;
};

}  // namespace cg2d
