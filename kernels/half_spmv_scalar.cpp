// The reference of the kernels on half-stored blocks: plain CSR, one row after the other.

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/column_sums.hpp"
#include "kernels/half_spmv_kernels.hpp"
#include "kernels/thread_placement.hpp"

namespace cg2d::kernels {
namespace {

class HalfScalarKernel final : public HalfSpmvKernel {
 public:
  HalfScalarKernel(std::string_view instruction_set, CsrBlock block, int thread_count)
      : instruction_set_(instruction_set),
        block_(std::move(block)),
        borders_(split_rows_by_nonzeros(block_.row_starts.span(), thread_count)),
        column_sums_(block_.column_count, thread_count) {
    place_near_threads(block_, borders_);
  }

  [[nodiscard]] std::string_view name() const override { return "symmetric-scalar"; }
  [[nodiscard]] std::string_view instruction_set() const override { return instruction_set_; }
  [[nodiscard]] std::int64_t matrix_byte_count() const override { return block_.byte_count(); }

  void multiply(const HalfOperands& operands) override {
    const int thread_count = static_cast<int>(borders_.size()) - 1;
#pragma omp parallel num_threads(thread_count) if (thread_count > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 0; part < thread_count; ++part) {
        multiply_rows(part, operands, column_sums_.of_thread(part, operands.q_columns));
      }
#pragma omp for schedule(static, 1)
      for (int part = 0; part < thread_count; ++part)
        column_sums_.add_to(operands.q_columns, part, thread_count);
    }
  }

 private:
  void multiply_rows(int part, const HalfOperands& operands, std::span<double> q_columns) const {
    std::fill(q_columns.begin(), q_columns.end(), 0.0);
    const auto index = static_cast<std::size_t>(part);
    for (std::int64_t row = borders_[index]; row < borders_[index + 1]; ++row) {
      const auto r = static_cast<std::size_t>(row);
      const double p_row = operands.p_rows[r];
      double sum = 0.0;
      for (auto k = static_cast<std::size_t>(block_.row_starts[r]);
           k < static_cast<std::size_t>(block_.row_starts[r + 1]); ++k) {
        sum += block_.values[k] * operands.p_columns[static_cast<std::size_t>(block_.columns[k])];
        q_columns[static_cast<std::size_t>(block_.columns[k])] += block_.values[k] * p_row;
      }
      operands.q_rows[r] = operands.adds_to_rows ? operands.q_rows[r] + sum : sum;
    }
  }

  std::string_view instruction_set_;
  CsrBlock block_;
  std::vector<std::int64_t> borders_;
  ColumnSums column_sums_;
};

}  // namespace

HalfKernelRow half_scalar_kernel() {
  return {
      .name = "symmetric-scalar",
      .description =
          "symmetric storage: one entry of each mirrored pair; plain CSR, the reference of its kind",
      .bytes_per_nonzero = 6.0,
      .converts = false,
      .defaults = {},
      .instruction_sets = {InstructionSet::portable},
      .why_unavailable = [] { return std::string(); },
      .make = [](CsrBlock block, const KernelOptions& options) -> std::unique_ptr<HalfSpmvKernel> {
        const auto set = choose_instruction_set(options.instruction_set, {InstructionSet::portable},
                                                InstructionSet::portable);
        return std::make_unique<HalfScalarKernel>(name_of(set), std::move(block), options.thread_count);
      },
  };
}

}  // namespace cg2d::kernels
