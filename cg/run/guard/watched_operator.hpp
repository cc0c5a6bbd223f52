#pragma once

// A solver's operator whose calls a guard sees.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "cg/solver/linear_operator.hpp"

namespace cg2d {

/// Stands for another operator. A derived class takes the place of its products and sums, and calls them itself.
class WatchedOperator : public LinearOperator {
 public:
  [[nodiscard]] std::size_t local_size() const override { return matrix_->local_size(); }
  [[nodiscard]] std::span<double> operand() override { return operand_ = matrix_->operand(); }
  [[nodiscard]] std::span<const double> result() const override { return matrix_->result(); }
  [[nodiscard]] std::optional<double> own_product() const override { return matrix_->own_product(); }
  [[nodiscard]] double most_terms() const override { return matrix_->most_terms(); }
  [[nodiscard]] double maximum_over_ranks(double value) override {
    return matrix_->maximum_over_ranks(value);
  }
  [[nodiscard]] std::span<const Phase> phases() const override { return matrix_->phases(); }
  [[nodiscard]] std::string_view why_not_conforming() const override { return matrix_->why_not_conforming(); }
  [[nodiscard]] VectorWork update_work() const override { return matrix_->update_work(); }

 protected:
  /// From now on it stands for that, which must outlive it.
  LinearOperator& watch(LinearOperator& matrix) {
    matrix_ = &matrix;
    return *this;
  }
  [[nodiscard]] LinearOperator& matrix() { return *matrix_; }
  /// Where the solver has written the operand.
  [[nodiscard]] std::span<double> written_operand() const { return operand_; }
  /// The operator's own memory, for faults on purpose: const for its users only.
  [[nodiscard]] std::span<double> writable_result() const {
    const auto result = matrix_->result();
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    return {const_cast<double*>(result.data()), result.size()};
  }

 private:
  LinearOperator* matrix_ = nullptr;
  std::span<double> operand_;
};

}  // namespace cg2d
