// Plain CSR with gathers: rows from the critical vector length on take a loop of vector registers, shorter
// ones a scalar loop, since setting up and summing up a register costs more than a few scalar products. (On
// the CP-PACS the paper's first compiler switched at 50 entries, and the best grid depended on it.)

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <utility>

#include "kernels/cpu_features.hpp"
#include "kernels/csr_rows_kernel.hpp"
#include "kernels/spmv_kernels.hpp"

namespace cg2d::kernels {
namespace {

/// Into the second-level cache: the first-level one is the operand's.
inline void prefetch(const double* values, const std::int32_t* columns, std::int64_t distance) {
  constexpr int for_reading = 0;
  constexpr int second_level = 2;
  __builtin_prefetch(values + distance, for_reading, second_level);
  __builtin_prefetch(columns + distance, for_reading, second_level);
}

inline double short_row(const double* values, const std::int32_t* columns, std::int64_t length,
                        const double* p) {
  double sum = 0.0;
  for (std::int64_t k = 0; k < length; ++k) sum += values[k] * p[columns[k]];
  return sum;
}

// The loop over rows is the same for every instruction set; long_row is not. Macros, because an attribute
// cannot be a template argument, and a function without it is not inlined into one that has it.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CG2D_CSR_ROW_LOOP(function, attribute, long_row)                                        \
  attribute void function(const CsrBlock& block, std::int64_t first_row, std::int64_t last_row, \
                          const CsrLoopSettings& settings, const double* p, double* q) {        \
    const std::int64_t* row_starts = block.row_starts.data();                                   \
    for (std::int64_t row = first_row; row < last_row; ++row) {                                 \
      const double* values = block.values.data() + row_starts[row];                             \
      const std::int32_t* columns = block.columns.data() + row_starts[row];                     \
      const std::int64_t length = row_starts[row + 1] - row_starts[row];                        \
      q[row] = length < settings.critical_vector_length                                         \
                   ? short_row(values, columns, length, p)                                      \
                   : long_row(values, columns, length, p, settings.prefetch_distance);          \
    }                                                                                           \
  }

/// Four sums, so that a product does not wait for the addition before it.
inline double long_row_portable(const double* values, const std::int32_t* columns, std::int64_t length,
                                const double* p, std::int64_t distance) {
  double sum0 = 0.0;
  double sum1 = 0.0;
  double sum2 = 0.0;
  double sum3 = 0.0;
  std::int64_t k = 0;
  for (; k + 4 <= length; k += 4) {
    prefetch(values + k, columns + k, distance);
    sum0 += values[k] * p[columns[k]];
    sum1 += values[k + 1] * p[columns[k + 1]];
    sum2 += values[k + 2] * p[columns[k + 2]];
    sum3 += values[k + 3] * p[columns[k + 3]];
  }
  for (; k < length; ++k) sum0 += values[k] * p[columns[k]];
  return (sum0 + sum1) + (sum2 + sum3);
}
CG2D_CSR_ROW_LOOP(multiply_portable, , long_row_portable)

#if defined(__x86_64__)
#define CG2D_AVX2 __attribute__((target("avx2,fma")))
#define CG2D_AVX512 __attribute__((target("avx512f,avx512vl,avx2,fma")))

// Gathers with a mask of all lanes: those without one begin with an undefined register, of which gcc 12
// warns.
CG2D_AVX2 inline __m256d gather4(const double* p, const std::int32_t* columns) {
  const __m256d none = _mm256_setzero_pd();
  const __m128i index = _mm_loadu_si128(reinterpret_cast<const __m128i*>(columns));
  return _mm256_mask_i32gather_pd(none, p, index, _mm256_cmp_pd(none, none, _CMP_EQ_OQ), 8);
}

CG2D_AVX2 inline double long_row_avx2(const double* values, const std::int32_t* columns, std::int64_t length,
                                      const double* p, std::int64_t distance) {
  __m256d sum0 = _mm256_setzero_pd();
  __m256d sum1 = _mm256_setzero_pd();
  std::int64_t k = 0;
  for (; k + 8 <= length; k += 8) {
    prefetch(values + k, columns + k, distance);
    sum0 = _mm256_fmadd_pd(_mm256_loadu_pd(values + k), gather4(p, columns + k), sum0);
    sum1 = _mm256_fmadd_pd(_mm256_loadu_pd(values + k + 4), gather4(p, columns + k + 4), sum1);
  }
  double lanes[4];
  _mm256_storeu_pd(lanes, _mm256_add_pd(sum0, sum1));
  double sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  for (; k < length; ++k) sum += values[k] * p[columns[k]];
  return sum;
}
CG2D_CSR_ROW_LOOP(multiply_avx2, CG2D_AVX2, long_row_avx2)

/// The products of up to 8 entries, zeros beyond `count`, added to `sum`.
CG2D_AVX512 inline __m512d add8(const double* values, const std::int32_t* columns, std::int64_t count,
                                const double* p, __m512d sum) {
  const auto mask = static_cast<__mmask8>(count >= 8 ? 0xffU : (1U << static_cast<unsigned>(count)) - 1U);
  const __m256i index = _mm256_maskz_loadu_epi32(mask, columns);
  const __m512d gathered = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask, index, p, 8);
  return _mm512_fmadd_pd(_mm512_maskz_loadu_pd(mask, values), gathered, sum);
}

CG2D_AVX512 inline double long_row_avx512(const double* values, const std::int32_t* columns,
                                          std::int64_t length, const double* p, std::int64_t distance) {
  __m512d sum0 = _mm512_setzero_pd();
  __m512d sum1 = _mm512_setzero_pd();
  std::int64_t k = 0;
  for (; k + 16 <= length; k += 16) {
    prefetch(values + k, columns + k, distance);
    prefetch(values + k + 8, columns + k + 8, distance);
    sum0 = add8(values + k, columns + k, 8, p, sum0);
    sum1 = add8(values + k + 8, columns + k + 8, 8, p, sum1);
  }
  for (; k < length; k += 8) sum0 = add8(values + k, columns + k, length - k, p, sum0);
  double lanes[8];
  _mm512_storeu_pd(lanes, _mm512_add_pd(sum0, sum1));
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}
CG2D_CSR_ROW_LOOP(multiply_avx512, CG2D_AVX512, long_row_avx512)
#endif

CsrRowLoop loop_for(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return &multiply_avx512;
    case InstructionSet::avx2:
      return &multiply_avx2;
#endif
    default:
      return &multiply_portable;
  }
}

constexpr int default_critical_vector_length = 8;
constexpr int default_prefetch_distance = 256;

}  // namespace

KernelRow csr_simd_kernel() {
  return {
      .name = "csr-simd",
      .description =
          "plain CSR; rows from the critical vector length on (--cvl) in vector registers, with gathers",
      .bytes_per_nonzero = 12.0,
      .converts = false,
      .defaults = {.critical_vector_length = default_critical_vector_length,
                   .prefetch_distance = default_prefetch_distance},
      .why_unavailable = [] { return std::string(); },
      .make = [](CsrBlock block, const KernelOptions& options) -> std::unique_ptr<SpmvKernel> {
        const auto set = widest_instruction_set();
        const CsrLoopSettings settings{
            .critical_vector_length =
                options.tuning.critical_vector_length.value_or(default_critical_vector_length),
            .prefetch_distance = options.tuning.prefetch_distance.value_or(default_prefetch_distance)};
        return std::make_unique<CsrRowsKernel>("csr-simd", name_of(set), loop_for(set), settings,
                                               std::move(block), options.thread_count);
      },
  };
}

}  // namespace cg2d::kernels
