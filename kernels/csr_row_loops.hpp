#pragma once

// Loops that multiply CSR rows by a vector, for every instruction set, for columns of 16 and of 32 bits. Rows
// from the critical vector length on take a loop with several sums. Shorter rows take a scalar loop, since
// setting up and summing up vector registers costs more than a few scalar products. (On the CP-PACS the
// paper's first compiler switched at 50 entries, and the best grid depended on it.)

#include <cstdint>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/simd.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// Rows whose entries lie one after the other; lengths[row] is the number of entries of a row.
template <typename Lengths, typename Column>
struct CsrRows {
  Lengths lengths;
  const Column* columns;
  const double* values;
  std::int64_t row_count;
  bool are_added;  // adds the products to q instead of overwriting it
};

struct CsrLoopConfig {
  std::int64_t critical_vector_length;  // shorter rows take the scalar loop
  std::int64_t prefetch_distance;       // in entries
};

/// p: the element of column 0; q: one element per row.
template <typename Lengths, typename Column>
using CsrRowsLoop = void (*)(const CsrRows<Lengths, Column>& rows, const CsrLoopConfig& settings,
                             const double* p, double* q);

/// The sets with a loop here that this processor has: all of this processor's.
inline std::vector<InstructionSet> csr_instruction_sets() { return of_this_processor(all_instruction_sets); }

/// The settings that were asked for, else the defaults, which have both.
inline CsrLoopConfig csr_loop_config(const Tuning& tuning, const Tuning& defaults) {
  return {.critical_vector_length = tuning.critical_vector_length.value_or(*defaults.critical_vector_length),
          .prefetch_distance = tuning.prefetch_distance.value_or(*defaults.prefetch_distance)};
}

// The loop over rows is the same for every instruction set; long_row is not. This is a macro, because an
// attribute cannot be a template argument, and a function that has it is not inlined into one without it.
// NOLINTBEGIN(cppcoreguidelines-macro-usage,bugprone-macro-parentheses): an attribute has no parentheses
#define CG2D_CSR_ROW_LOOP(function, attribute, long_row)                                         \
  template <typename Lengths, typename Column>                                                   \
  attribute void function(const CsrRows<Lengths, Column>& rows, const CsrLoopConfig& settings,   \
                          const double* p, double* q) {                                          \
    const double* values = rows.values;                                                          \
    const Column* columns = rows.columns;                                                        \
    for (std::int64_t row = 0; row < rows.row_count; ++row) {                                    \
      const std::int64_t length = rows.lengths[row];                                             \
      const double sum = length < settings.critical_vector_length                                \
                             ? short_row(values, columns, length, p)                             \
                             : long_row(values, columns, length, p, settings.prefetch_distance); \
      q[row] = rows.are_added ? q[row] + sum : sum;                                              \
      values += length;                                                                          \
      columns += length;                                                                         \
    }                                                                                            \
  }
// NOLINTEND(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)

template <typename Column>
inline __attribute__((always_inline)) double short_row(const double* values, const Column* columns,
                                                       std::int64_t length, const double* p) {
  double sum = 0.0;
  for (std::int64_t k = 0; k < length; ++k) sum += values[k] * p[columns[k]];
  return sum;
}

/// Four sums, so that an addition does not wait for the one before it.
template <typename Column>
inline __attribute__((always_inline)) double long_row_portable(const double* values, const Column* columns,
                                                               std::int64_t length, const double* p,
                                                               std::int64_t distance) {
  double sum0 = 0.0;
  double sum1 = 0.0;
  double sum2 = 0.0;
  double sum3 = 0.0;
  std::int64_t k = 0;
  for (; k + 4 <= length; k += 4) {
    prefetch_entries(values + k, columns + k, distance);
    sum0 += values[k] * p[columns[k]];
    sum1 += values[k + 1] * p[columns[k + 1]];
    sum2 += values[k + 2] * p[columns[k + 2]];
    sum3 += values[k + 3] * p[columns[k + 3]];
  }
  for (; k < length; ++k) sum0 += values[k] * p[columns[k]];
  return (sum0 + sum1) + (sum2 + sum3);
}
CG2D_CSR_ROW_LOOP(multiply_rows_portable, , long_row_portable)

#if defined(__x86_64__)

/// Adds the products of two entries to `sums`.
template <typename Column>
CG2D_FMA inline __attribute__((always_inline)) __m128d add_two(const double* values, const Column* columns,
                                                               const double* p, __m128d sums) {
  const auto first = static_cast<std::size_t>(columns[0]);
  const auto second = static_cast<std::size_t>(columns[1]);
  return _mm_fmadd_pd(_mm_loadu_pd(values), two_of(p, first, second), sums);
}

/// Takes the entries in pairs, as the SELL loops do, without gathers, which are slower than single loads on
/// some processors.
template <typename Column>
CG2D_FMA inline __attribute__((always_inline)) double long_row_fma(const double* values,
                                                                   const Column* columns, std::int64_t length,
                                                                   const double* p, std::int64_t distance) {
  __m128d sum0 = _mm_setzero_pd();
  __m128d sum1 = _mm_setzero_pd();
  __m128d sum2 = _mm_setzero_pd();
  __m128d sum3 = _mm_setzero_pd();
  std::int64_t k = 0;
  for (; k + 8 <= length; k += 8) {
    prefetch_entries(values + k, columns + k, distance);
    sum0 = add_two(values + k, columns + k, p, sum0);
    sum1 = add_two(values + k + 2, columns + k + 2, p, sum1);
    sum2 = add_two(values + k + 4, columns + k + 4, p, sum2);
    sum3 = add_two(values + k + 6, columns + k + 6, p, sum3);
  }
  for (; k + 2 <= length; k += 2) sum0 = add_two(values + k, columns + k, p, sum0);
  double lanes[2];
  _mm_storeu_pd(lanes, _mm_add_pd(_mm_add_pd(sum0, sum1), _mm_add_pd(sum2, sum3)));
  const double rest = k < length ? values[k] * p[columns[k]] : 0.0;
  return (lanes[0] + lanes[1]) + rest;
}
CG2D_CSR_ROW_LOOP(multiply_rows_fma, CG2D_FMA, long_row_fma)

CG2D_AVX2 inline __attribute__((always_inline)) __m128i load_4_columns(const std::int32_t* columns) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(columns));
}

CG2D_AVX2 inline __attribute__((always_inline)) __m128i load_4_columns(const std::uint16_t* columns) {
  return _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(columns)));
}

template <typename Column>
CG2D_AVX2 inline __attribute__((always_inline)) double long_row_avx2(const double* values,
                                                                     const Column* columns,
                                                                     std::int64_t length, const double* p,
                                                                     std::int64_t distance) {
  __m256d sum0 = _mm256_setzero_pd();
  __m256d sum1 = _mm256_setzero_pd();
  std::int64_t k = 0;
  for (; k + 8 <= length; k += 8) {
    prefetch_entries(values + k, columns + k, distance);
    const __m256d p0 = gather_avx2(p, load_4_columns(columns + k));
    const __m256d p1 = gather_avx2(p, load_4_columns(columns + k + 4));
    sum0 = _mm256_fmadd_pd(_mm256_loadu_pd(values + k), p0, sum0);
    sum1 = _mm256_fmadd_pd(_mm256_loadu_pd(values + k + 4), p1, sum1);
  }
  double lanes[4];
  _mm256_storeu_pd(lanes, _mm256_add_pd(sum0, sum1));
  double sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  for (; k < length; ++k) sum += values[k] * p[columns[k]];
  return sum;
}
CG2D_CSR_ROW_LOOP(multiply_rows_avx2, CG2D_AVX2, long_row_avx2)

/// Loads the columns of the mask; memory beyond them is not touched.
CG2D_AVX512 inline __attribute__((always_inline)) __m256i load_8_columns(const std::int32_t* columns,
                                                                         __mmask8 mask) {
  return _mm256_maskz_loadu_epi32(mask, columns);
}

CG2D_AVX512 inline __attribute__((always_inline)) __m256i load_8_columns(const std::uint16_t* columns,
                                                                         __mmask8 mask) {
  return _mm256_cvtepu16_epi32(_mm_maskz_loadu_epi16(mask, columns));
}

/// Adds the products of up to 8 entries to `sum`; lanes from `count` on add zeros.
template <typename Column>
CG2D_AVX512 inline __attribute__((always_inline)) __m512d add8(const double* values, const Column* columns,
                                                               std::int64_t count, const double* p,
                                                               __m512d sum) {
  const auto mask = static_cast<__mmask8>(count >= 8 ? 0xffU : (1U << static_cast<unsigned>(count)) - 1U);
  const __m512d gathered = gather_avx512(p, load_8_columns(columns, mask), mask);
  return _mm512_fmadd_pd(_mm512_maskz_loadu_pd(mask, values), gathered, sum);
}

template <typename Column>
CG2D_AVX512 inline __attribute__((always_inline)) double long_row_avx512(const double* values,
                                                                         const Column* columns,
                                                                         std::int64_t length, const double* p,
                                                                         std::int64_t distance) {
  __m512d sum0 = _mm512_setzero_pd();
  __m512d sum1 = _mm512_setzero_pd();
  std::int64_t k = 0;
  for (; k + 16 <= length; k += 16) {
    prefetch_entries(values + k, columns + k, distance);
    prefetch_entries(values + k + 8, columns + k + 8, distance);
    sum0 = add8(values + k, columns + k, 8, p, sum0);
    sum1 = add8(values + k + 8, columns + k + 8, 8, p, sum1);
  }
  for (; k < length; k += 8) sum0 = add8(values + k, columns + k, length - k, p, sum0);
  double lanes[8];
  _mm512_storeu_pd(lanes, _mm512_add_pd(sum0, sum1));
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}
CG2D_CSR_ROW_LOOP(multiply_rows_avx512, CG2D_AVX512, long_row_avx512)
#endif

template <typename Lengths, typename Column>
CsrRowsLoop<Lengths, Column> csr_loop_for(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return &multiply_rows_avx512<Lengths, Column>;
    case InstructionSet::avx2:
      return &multiply_rows_avx2<Lengths, Column>;
    case InstructionSet::fma:
      return &multiply_rows_fma<Lengths, Column>;
#endif
    default:
      return &multiply_rows_portable<Lengths, Column>;
  }
}

}  // namespace cg2d::kernels
