#pragma once

// Which processors' vectors a source with loops over vectors is compiled for, once for each (Google Highway's foreach_target.h). Such a
// source names itself in HWY_TARGET_INCLUDE; its loops stand once, over vectors whose length may be known only at run time, in
// namespace HWY_NAMESPACE. See spmv_sell.cpp.

#include "kernels/cpu_features.hpp"

// The narrowest loops, whatever the compiler is told about this machine: InstructionSet::portable. Where no processor of the kind is sure
// to have vectors that Highway knows, pairs of numbers, which the compiler makes SSE2 of on x86-64. (Highway takes single numbers with gcc
// before 12.3, for faults in operations that no loop here uses.)
#if defined(__aarch64__)
#define HWY_BASELINE_TARGETS HWY_NEON
#elif !defined(__riscv_vector)
#define HWY_BROKEN_EMU128 0
#define HWY_BASELINE_TARGETS HWY_EMU128
#endif
// No loop here has a use for what SSE4 has over SSE2, and SVE2 over SVE.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
// Instructions that no loop here uses, so that a processor need not have them.
#define HWY_DISABLE_F16C
#define HWY_DISABLE_PCLMUL_AES
// A build with sanitizers compiles each loop once: the narrowest one serves all sets.
#if defined(CG2D_SANITIZED)
#define HWY_COMPILE_ONLY_STATIC
#endif

#include <hwy/detect_targets.h>

// The result of function(set, more arguments), out of the namespace that is compiled for the set. Behind HWY_ONCE only. A macro, because a
// namespace cannot be an argument of anything else.
// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#if defined(__x86_64__) && !defined(HWY_COMPILE_ONLY_STATIC)
#define CG2D_OF_SET(set, function, ...)                                                                \
  ((set) == InstructionSet::avx512     ? N_AVX3::function(set __VA_OPT__(, ) __VA_ARGS__)              \
   : (set) == InstructionSet::portable ? HWY_STATIC_DISPATCH(function)(set __VA_OPT__(, ) __VA_ARGS__) \
                                       : N_AVX2::function(set __VA_OPT__(, ) __VA_ARGS__))
#elif HWY_TARGETS & HWY_SVE
#define CG2D_OF_SET(set, function, ...)                                           \
  ((set) == InstructionSet::sve ? N_SVE::function(set __VA_OPT__(, ) __VA_ARGS__) \
                                : HWY_STATIC_DISPATCH(function)(set __VA_OPT__(, ) __VA_ARGS__))
#else
#define CG2D_OF_SET(set, function, ...) HWY_STATIC_DISPATCH(function)(set __VA_OPT__(, ) __VA_ARGS__)
#endif
// NOLINTEND(cppcoreguidelines-macro-usage)
