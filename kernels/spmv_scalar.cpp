// The references: plain CSR, one row after the other, additions in the order of the columns. All other kernels are compared with them.

#include <utility>

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

/// Adds to the sums over the columns, too.
void multiply_half_rows(const CsrBlock& block, const CsrRowOperands& operands) {
  const int64_t* row_starts = block.row_starts.data();
  const int32_t* columns = block.columns.data();
  const double* values = block.values.data();
  for (int64_t row = operands.first_row; row < operands.last_row; ++row) {
    const double p_row = operands.p_rows[row];
    double sum = 0.0;
    for (int64_t k = row_starts[row]; k < row_starts[row + 1]; ++k) {
      sum += values[k] * operands.p[columns[k]];
      operands.q_columns[columns[k]] += values[k] * p_row;
    }
    operands.q[row] = operands.are_added ? operands.q[row] + sum : sum;
  }
}

}  // namespace

KernelRow scalar_kernel() {
  return {
      .name = "scalar",
      .description = "reference: plain CSR, one accumulator, the inner loop of the official program",
      .bytes_per_nonzero = 12.0,
      .instruction_sets = {InstructionSet::portable},
      .maker = [](CsrBlock block, const KernelOptions& options) -> std::unique_ptr<SpmvKernel> {
        if (options.most_terms > 0.0) return make_exact_csr("scalar", std::move(block), options);
        return std::make_unique<CsrRowsKernel>("scalar", &multiply_rows, std::move(block), options);
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
      .bytes_per_nonzero = 6.0,
      .instruction_sets = {InstructionSet::portable},
      .maker = [](CsrBlock block, const KernelOptions& options) -> std::unique_ptr<SpmvKernel> {
        return std::make_unique<CsrRowsKernel>("symmetric-scalar", &multiply_half_rows, std::move(block),
                                               options, Storage::half);
      },
  };
}

}  // namespace cg2d::kernels
