#pragma once

// How loops for x86-64 are compiled, and how they take elements of the operand from several places. Empty on
// other processors.

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>

// For functions: the rest of the program runs on any processor. Which of them run is asked at run time
// (cpu_features.hpp). Macros, because an attribute cannot be a constant.
#define CG2D_FMA __attribute__((target("avx2,fma")))
#define CG2D_AVX2 __attribute__((target("avx2,fma")))
#define CG2D_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2,fma")))

namespace cg2d::kernels {

/// Two elements of p in one register: the second load merges.
CG2D_FMA inline __attribute__((always_inline)) __m128d two_of(const double* p, std::size_t first,
                                                              std::size_t second) {
  return _mm_loadh_pd(_mm_load_sd(p + first), p + second);
}

// Gathers with a mask of all lanes: those without one begin with an undefined register, of which gcc 12
// warns.
CG2D_AVX2 inline __attribute__((always_inline)) __m256d gather_avx2(const double* p, __m128i index) {
  const __m256d none = _mm256_setzero_pd();
  return _mm256_mask_i32gather_pd(none, p, index, _mm256_cmp_pd(none, none, _CMP_EQ_OQ), sizeof(double));
}

/// Zeros where the mask has none.
CG2D_AVX512 inline __attribute__((always_inline)) __m512d gather_avx512(const double* p, __m256i index,
                                                                        __mmask8 mask) {
  return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask, index, p, sizeof(double));
}

}  // namespace cg2d::kernels
#endif
