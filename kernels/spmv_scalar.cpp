// Kernel "scalar", the reference: plain CSR, one accumulator, additions in the order of the columns. It is
// the inner loop of the official program, and all other kernels are compared with it.

#include "kernels/csr_rows_kernel.hpp"

namespace cg2d::kernels {
namespace {

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

}  // namespace cg2d::kernels
