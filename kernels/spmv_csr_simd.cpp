// Kernel "csr-simd": plain CSR, long rows in vector registers; 12 bytes per nonzero, and no conversion.

#include <utility>

#include "kernels/csr_row_loops.hpp"
#include "kernels/csr_rows_kernel.hpp"
#include "kernels/exact_csr.hpp"
#include "kernels/loop_choice.hpp"
#include "kernels/several_vectors.hpp"

namespace cg2d::kernels {
namespace {
namespace csr_simd {

constexpr Tuning defaults{.critical_vector_length = 8, .prefetch_distance = 256};

/// The lengths of rows, from the positions at which they start.
struct RowLengths {
  const std::int64_t* starts;
  std::int64_t operator[](std::int64_t row) const { return starts[row + 1] - starts[row]; }
};

CsrRows<RowLengths, std::int32_t> rows_of(const CsrBlock& block, const CsrRowOperands& operands) {
  const std::int64_t* starts = block.row_starts.data() + operands.first_row;
  return {.lengths = {.starts = starts},
          .columns = block.columns.data() + *starts,
          .values = block.values.data() + *starts,
          .row_count = operands.last_row - operands.first_row,
          .are_added = operands.are_added};
}

InstructionSet preferred_instruction_set();

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  const auto set =
      choose_instruction_set(options.instruction_set, csr_instruction_sets(), preferred_instruction_set);
  const auto loop = csr_loop_for<RowLengths, std::int32_t>(set);
  const auto settings = csr_loop_config(options.tuning, defaults);
  const auto multiply_rows = [=](const CsrBlock& rows_block, const CsrRowOperands& operands) {
    loop(rows_of(rows_block, operands), settings, operands.p, operands.q + operands.first_row);
  };
  return std::make_unique<CsrRowsKernel>("csr-simd", name_of(set), multiply_rows, std::move(block),
                                         options.thread_count);
}

InstructionSet preferred_instruction_set() {
  static const auto fastest = fastest_loop(make, csr_instruction_sets(), fastest_gathering_instruction_set());
  return fastest;
}

}  // namespace csr_simd
}  // namespace

KernelRow csr_simd_kernel() {
  return {
      .name = "csr-simd",
      .description =
          "plain CSR; rows from the critical vector length on (--cvl) in vector registers, with gathers",
      .bytes_per_nonzero = 12.0,
      .defaults = csr_simd::defaults,
      .instruction_sets = csr_instruction_sets(),
      .preferred_instruction_set = csr_simd::preferred_instruction_set,
      .make = &csr_simd::make,
      .make_for_several = &make_several_csr,
      .make_reproducible = &make_exact_csr,
  };
}

}  // namespace cg2d::kernels
