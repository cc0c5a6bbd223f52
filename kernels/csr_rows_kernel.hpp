#pragma once

// The part that all kernels on plain CSR have in common: the block, its split over threads, and the call of a
// loop over rows.

#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/parallel_parts.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// The operands of a loop over rows, which sets q[row] for the rows [first_row, last_row), or adds to it.
struct CsrRowOperands {
  std::int64_t first_row;
  std::int64_t last_row;
  const double* p;
  double* q;  // q of the whole block
  bool are_added;
  // Operands of reproducible loops only: see Operands and KernelOptions.
  double* q_low;
  double p_bound;
  const double* row_bounds;
};

using CsrRowLoop = std::function<void(const CsrBlock& block, const CsrRowOperands& operands)>;

/// A kernel that runs one row loop on every thread, rows split by nonzeros.
class CsrRowsKernel final : public SpmvKernel {
 public:
  /// row_bounds: KernelOptions::row_bounds; empty, or one for each row.
  CsrRowsKernel(std::string_view name, std::string_view instruction_set, CsrRowLoop loop, CsrBlock block,
                int thread_count, std::span<const double> row_bounds = {})
      : name_(name),
        instruction_set_(instruction_set),
        loop_(std::move(loop)),
        block_(std::move(block)),
        borders_(split_rows_by_nonzeros(block_.row_starts.span(), thread_count)),
        row_bounds_(row_bounds.begin(), row_bounds.end()) {
    place_near_threads(block_, borders_);
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view instruction_set() const override { return instruction_set_; }
  [[nodiscard]] std::int64_t matrix_byte_count() const override {
    return block_.byte_count() + static_cast<std::int64_t>(row_bounds_.size() * sizeof(double));
  }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override {
    auto arrays = block_.stored_arrays();
    if (!row_bounds_.empty()) arrays.push_back(stored_array(ArrayKind::structure, std::span(row_bounds_)));
    return arrays;
  }
  [[nodiscard]] bool has_columns_in_range() const override {
    return all_parts_hold(static_cast<int>(borders_.size()) - 1, [this](std::size_t part) {
      return block_.has_columns_in_range(borders_[part], borders_[part + 1]);
    });
  }

  /// A share is a share of every thread's rows.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    const int thread_count = static_cast<int>(borders_.size()) - 1;
#pragma omp parallel for num_threads(thread_count) schedule(static, 1) if (thread_count > 1)
    for (int part = 0; part < thread_count; ++part) {
      const auto index = static_cast<std::size_t>(part);
      const ShareRange rows(borders_[index + 1] - borders_[index], mode);
      loop_(block_, {.first_row = borders_[index] + rows.begin,
                     .last_row = borders_[index] + rows.end,
                     .p = operands.p_columns.data(),
                     .q = operands.q_rows.data(),
                     .are_added = mode.is_added,
                     .q_low = operands.q_rows_low.data(),
                     .p_bound = operands.p_bound,
                     .row_bounds = row_bounds_.data()});
    }
  }

 private:
  std::string_view name_;
  std::string_view instruction_set_;
  CsrRowLoop loop_;
  CsrBlock block_;
  std::vector<std::int64_t> borders_;
  std::vector<double> row_bounds_;
};

}  // namespace cg2d::kernels
