// Kernel "csr-simd": plain CSR, long rows in vector registers; 12 bytes per nonzero, and no conversion.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmv_csr_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/csr_row_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace csr_simd {

using Loop = CsrRowsLoop<RowLengths, int32_t>;

Loop loop_for(InstructionSet set) { return csr_loop_for<RowLengths, int32_t>(set); }

}  // namespace csr_simd
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>
#include <utility>

#include "kernels/loop_choice.hpp"
#include "kernels/several_vectors.hpp"

namespace cg2d::kernels {
namespace {
namespace csr_simd {

constexpr Tuning defaults{.critical_vector_length = 8, .prefetch_distance = 256};

CsrRows<RowLengths, int32_t> rows_of(const CsrBlock& block, const CsrRowOperands& operands) {
  const int64_t* starts = block.row_starts.data() + operands.first_row;
  return {.lengths = {.starts = starts},
          .columns = block.columns.data() + *starts,
          .values = block.values.data() + *starts,
          .row_count = operands.last_row - operands.first_row,
          .are_added = operands.are_added};
}

InstructionSet preferred_instruction_set();

/// Reproducible sums, in vector registers where this processor has them.
std::unique_ptr<SpmvKernel> make_reproducible(CsrBlock block, const KernelOptions& options) {
  constexpr std::array sets{InstructionSet::portable, InstructionSet::fma, InstructionSet::sve};
  const auto set = options.instruction_set == InstructionSet::portable ? InstructionSet::portable
                                                                       : of_this_processor(sets).back();
  return make_exact_csr("csr-simd", set, std::move(block), options);
}

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  if (options.vector_count > 1) return make_several_rows("csr-simd", std::move(block), options);
  if (options.most_terms > 0.0) return make_reproducible(std::move(block), options);
  const auto set =
      choose_instruction_set(options.instruction_set, csr_instruction_sets(), preferred_instruction_set);
  const auto loop = CG2D_OF_SET(set, csr_simd::loop_for);
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
      .makes_several = true,
      .makes_reproducible = true,
  };
}

}  // namespace cg2d::kernels
#endif
