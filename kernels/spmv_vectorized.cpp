// Plain CSR, with the row loop written for the compiler's vectorizer: one partial sum per lane, matrix data
// fetched ahead.
//
// One loop, compiled for each instruction set by function attribute and chosen at run time; a macro, because
// an attribute cannot be a template argument and a function without it is not inlined into one that has it.
//
// Measured, ns per nonzero, one thread, classes A / B (EPYC Zen 4, 1 MB L2, gcc 12.2, 2026-11-21; medians of
// 15): scalar .85 / 1.15; 8 lanes portable .62 / 1.09; AVX2 with 4 lanes .75 / .98, with 8 lanes .65 / 1.16;
// AVX-512 with 8 lanes .62 / 1.21, with 16 lanes .70 / 1.34 (its gathers are slow there); without the
// prefetch .82 / 1.20 (portable).

#include "kernels/cpu_features.hpp"
#include "kernels/csr_rows_kernel.hpp"
#include "kernels/spmv_kernels.hpp"

namespace cg2d::kernels {
namespace {

// In elements: 2 kB of values and 1 kB of columns ahead of their use.
constexpr std::int64_t prefetch_distance = 256;

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CG2D_VECTORIZED_ROW_LOOP(function, attribute, lane_count)                               \
  attribute void function(const CsrBlock& block, std::int64_t first_row, std::int64_t last_row, \
                          const double* p, double* q) {                                         \
    const std::int64_t* row_starts = block.row_starts.data();                                   \
    const std::int32_t* columns = block.columns.data();                                         \
    const double* values = block.values.data();                                                 \
    for (std::int64_t row = first_row; row < last_row; ++row) {                                 \
      double partial[lane_count] = {};                                                          \
      const std::int64_t end = row_starts[row + 1];                                             \
      std::int64_t k = row_starts[row];                                                         \
      for (; k + (lane_count) <= end; k += (lane_count)) {                                      \
        __builtin_prefetch(values + k + prefetch_distance);                                     \
        __builtin_prefetch(columns + k + prefetch_distance);                                    \
        _Pragma("omp simd") for (int lane = 0; lane < (lane_count); ++lane) {                   \
          partial[lane] += values[k + lane] * p[columns[k + lane]];                             \
        }                                                                                       \
      }                                                                                         \
      double sum = 0.0;                                                                         \
      for (; k < end; ++k) sum += values[k] * p[columns[k]];                                    \
      for (int lane = 0; lane < (lane_count); ++lane) sum += partial[lane];                     \
      q[row] = sum;                                                                             \
    }                                                                                           \
  }

CG2D_VECTORIZED_ROW_LOOP(multiply_rows_portable, , 8)
#if defined(__x86_64__)
CG2D_VECTORIZED_ROW_LOOP(multiply_rows_avx2, __attribute__((target("avx2,fma"))), 4)
#endif

/// The widest instruction set that this kernel has a loop for here.
InstructionSet used_instruction_set() {
#if defined(__x86_64__)
  if (widest_instruction_set() >= InstructionSet::avx2) return InstructionSet::avx2;
#endif
  return InstructionSet::portable;
}

CsrRowLoop loop_for(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx2) return &multiply_rows_avx2;
#endif
  static_cast<void>(set);
  return &multiply_rows_portable;
}

}  // namespace

KernelRow vectorized_kernel() {
  return {
      .name = "vectorized",
      .description = "plain CSR, row loop vectorized by the compiler for this processor's instruction set",
      .why_unavailable = [] { return std::string(); },
      .make = [](CsrBlock block, int thread_count) -> std::unique_ptr<SpmvKernel> {
        const auto set = used_instruction_set();
        return std::make_unique<CsrRowsKernel>("vectorized", name_of(set), loop_for(set), std::move(block),
                                               thread_count);
      },
  };
}

}  // namespace cg2d::kernels
