// The references: plain CSR, one row after the other, additions in the order of the columns. All other kernels are compared with them.

#include <algorithm>
#include <utility>

#include "kernels/column_sums.hpp"
#include "kernels/csr_rows_kernel.hpp"

namespace cg2d::kernels {
namespace {

/// One accumulator: the inner loop of the official program.
void multiply_rows(const CsrBlock& block, const CsrRowOperands& operands) {
  const int64_t* row_starts = block.row_starts.data();
  const int32_t* columns = block.columns.data();
  const double* values = block.values.data();
  for (int64_t row = operands.first_row; row < operands.last_row; ++row) {
    double sum = 0.0;
    for (int64_t k = row_starts[row]; k < row_starts[row + 1]; ++k) sum += values[k] * operands.p[columns[k]];
    operands.q[row] = operands.are_added ? operands.q[row] + sum : sum;
  }
}

namespace symmetric_scalar {

class Kernel final : public CsrKernel {
 public:
  Kernel(std::string_view instruction_set, CsrBlock whole, int thread_count)
      : CsrKernel("symmetric-scalar", instruction_set, std::move(whole), thread_count),
        column_sums_(block().column_count, thread_count) {}

  /// A share is a share of every thread's rows; the last one adds up the threads' column sums.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    const int count = thread_count();
    const bool is_last_share = mode.share + 1 == mode.share_count;
    const int64_t columns_to_add = is_last_share ? block().column_count : 0;
#pragma omp parallel num_threads(count) if (count > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 0; part < count; ++part) {
        multiply_rows(part, operands, mode, column_sums_.of_thread(part, operands.q_columns));
      }
#pragma omp for schedule(static, 1)
      for (int part = 0; part < count; ++part) {
        column_sums_.add_to(operands.q_columns, columns_to_add * part / count,
                            columns_to_add * (part + 1) / count);
      }
    }
  }

 private:
  void multiply_rows(int part, const Operands& operands, const ProductMode& mode,
                     std::span<double> q_columns) const {
    // The first thread's sums are those of the result itself.
    const bool is_continued = mode.is_continued && part == 0;
    if (mode.share == 0 && !is_continued) std::ranges::fill(q_columns, 0.0);
    const auto rows = rows_of(part, mode);
    const auto& stored = block();
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const auto r = static_cast<size_t>(row);
      const double p_row = operands.p_rows[r];
      double sum = 0.0;
      for (auto k = static_cast<size_t>(stored.row_starts[r]);
           k < static_cast<size_t>(stored.row_starts[r + 1]); ++k) {
        sum += stored.values[k] * operands.p_columns[static_cast<size_t>(stored.columns[k])];
        q_columns[static_cast<size_t>(stored.columns[k])] += stored.values[k] * p_row;
      }
      operands.q_rows[r] = mode.is_added ? operands.q_rows[r] + sum : sum;
    }
  }

  ColumnSums column_sums_;
};

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  const auto set = choose_instruction_set(options.instruction_set, {InstructionSet::portable},
                                          [] { return InstructionSet::portable; });
  return std::make_unique<Kernel>(name_of(set), std::move(block), options.thread_count);
}

}  // namespace symmetric_scalar

}  // namespace

KernelRow scalar_kernel() {
  return {
      .name = "scalar",
      .description = "reference: plain CSR, one accumulator, the inner loop of the official program",
      .is_reference = true,
      .bytes_per_nonzero = 12.0,
      .instruction_sets = {InstructionSet::portable},
      .make = [](CsrBlock block, const KernelOptions& options) -> std::unique_ptr<SpmvKernel> {
        const auto set = choose_instruction_set(options.instruction_set, {InstructionSet::portable},
                                                [] { return InstructionSet::portable; });
        if (options.most_terms > 0.0) return make_exact_csr("scalar", set, std::move(block), options);
        return std::make_unique<CsrRowsKernel>("scalar", name_of(set), &multiply_rows, std::move(block),
                                               options.thread_count);
      },
      .makes_reproducible = true,
  };
}

KernelRow symmetric_scalar_kernel() {
  return {
      .name = "symmetric-scalar",
      .description =
          "symmetric storage: one entry of each mirrored pair; plain CSR, the reference of its kind",
      .storage = Storage::half,
      .is_reference = true,
      .bytes_per_nonzero = 6.0,
      .instruction_sets = {InstructionSet::portable},
      .make = &symmetric_scalar::make,
  };
}

}  // namespace cg2d::kernels
