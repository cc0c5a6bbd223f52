#pragma once

// The means by which kernels make loops for one instruction set: fetching ahead, registers, and, on x86-64, target attributes. (Loops over
// vectors of any length: vectors-inl.hpp.)

#include <cstdint>
#include <cstring>

/// For functions shared by all instruction sets, which are inlined into ones with the set's attribute.
#define CG2D_INLINE inline __attribute__((always_inline))

namespace cg2d::kernels {

/// Numbers of one register. (gcc 12 keeps vectors that are longer than a register in memory.)
using TwoLanes = double __attribute__((vector_size(2 * sizeof(double))));
using FourLanes = double __attribute__((vector_size(4 * sizeof(double))));
using EightLanes = double __attribute__((vector_size(8 * sizeof(double))));

/// Loads a register from any address.
template <typename Lanes>
CG2D_INLINE void load_lanes(Lanes& target, const double* source) {
  std::memcpy(&target, source, sizeof(target));
}

/// Fetches the entries `distance` after these into the second-level cache: the first-level one is for the
/// operands. (SELL, Zen 4, 2026-11, class A: fetching into the first-level one takes 0.66 instead of 0.35 ns
/// per nonzero.) Always inlined: otherwise gcc 12 takes it for a function without effect and drops the calls
/// in loops for other instruction sets.
template <typename Column>
inline __attribute__((always_inline)) void prefetch_entries(const double* values, const Column* columns,
                                                            std::int64_t distance) {
  constexpr int for_reading = 0;
  constexpr int second_level = 2;
  __builtin_prefetch(values + distance, for_reading, second_level);
  __builtin_prefetch(columns + distance, for_reading, second_level);
}

}  // namespace cg2d::kernels

#if defined(__x86_64__)
// Target attributes of single functions; the rest of the program runs on any processor, and cpu_features.hpp
// tells at run time which of these functions may run. Macros, because an attribute cannot be a constant.
#define CG2D_FMA __attribute__((target("avx2,fma")))
#define CG2D_AVX2 __attribute__((target("avx2,fma")))
#define CG2D_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2,fma")))
#endif
