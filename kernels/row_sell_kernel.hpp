#pragma once

// The part that the usual and the reproducible form of the kernel "sell-rows" have in common: the format, and its split over threads. A
// form brings a loop for each instruction set (row_sell_loops-inl.hpp).

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/row_sell.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// Some windows of a part, to be multiplied.
struct RowSellWindows {
  const RowSellPart& part;
  std::int64_t first_window;
  std::int64_t last_window;
  std::int64_t prefetch_distance;
  bool are_added;
};

/// The vectors of a loop, which are those of the whole block.
struct RowSellVectors {
  const double* p;
  double* q;  // the part's rows are set, or added to
  // Operands of reproducible sums only: see Operands and KernelOptions.
  double* q_low;
  const double* row_bounds;
  double p_bound;
  double low_factor;  // SplitConstants::low_factor()
};

using RowSellLoop = void (*)(const RowSellWindows& range, const RowSellVectors& vectors);

/// A loop with its format.
class RowSellKernel final : public SpmvKernel {
 public:
  struct Form {
    InstructionSet set = InstructionSet::portable;
    RowSellLoop loop = nullptr;
    std::int64_t prefetch_distance = 0;
  };

  /// Reproducible where the options have most_terms. Throws std::bad_alloc, std::invalid_argument without a bound for each row then.
  RowSellKernel(const Form& form, const CsrBlock& block, const KernelOptions& options);

  [[nodiscard]] std::string_view name() const override { return "sell-rows"; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(form_.set); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override;
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override;
  [[nodiscard]] bool has_columns_in_range() const override;
  /// A share is a share of the windows.
  void multiply(const Operands& operands, const ProductMode& mode) override;

 private:
  Form form_;
  std::vector<RowSellPart> parts_;  // one per thread
  std::vector<double> row_bounds_;
  double low_factor_;  // 0: sums as usual
};

}  // namespace cg2d::kernels
