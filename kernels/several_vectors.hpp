#pragma once

// The product of a block with several vectors at once: each entry of the matrix is read once for all of them. The
// vectors lie row by row: the elements of one row, one of each vector, are neighbours in memory.

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/simd.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// Kernels for KernelOptions::vector_count vectors: KernelRow::make_for_several of the rows that have one.
std::unique_ptr<SpmvKernel> make_several_csr(CsrBlock block, const KernelOptions& options);
/// Column blocks, or plain CSR where a row has few entries in a column block.
std::unique_ptr<SpmvKernel> make_several_blocks(CsrBlock block, const KernelOptions& options);

/// Half storage in column blocks, and the same for arrays that are lent: KernelRow::make_several_external.
std::unique_ptr<SpmvKernel> make_several_symmetric(CsrBlock block, const KernelOptions& options);
std::unique_ptr<SpmvKernel> make_several_symmetric_external(const ExternalArrays& block,
                                                            const KernelOptions& options);

/// Plain CSR for the kernel of that name, which must stay alive.
std::unique_ptr<SpmvKernel> make_several_rows(std::string_view name, CsrBlock block,
                                              const KernelOptions& options);

namespace several {

/// A register of vector extensions. One by one: gcc 12 drops a vector_size that depends on a template's argument beside
/// other attributes.
template <int Lanes>
struct RegisterOf;
template <>
struct RegisterOf<2> {
  using Type = double __attribute__((vector_size(16), may_alias));
};
template <>
struct RegisterOf<4> {
  using Type = double __attribute__((vector_size(32), may_alias));
};
template <>
struct RegisterOf<8> {
  using Type = double __attribute__((vector_size(64), may_alias));
};

/// The elements of one row of all vectors, in registers. Nothing is passed by value: functions for another
/// instruction set could not take it.
template <int Lanes, int Count>
struct Elements {
  using Register = typename RegisterOf<Lanes>::Type;
  static_assert(sizeof(Register) == Lanes * sizeof(double));
  static constexpr std::int64_t lanes = Lanes;
  static constexpr std::int64_t size = lanes * Count;
  /// A register at any multiple of 8 bytes. clang 14 forgets an alignment that stands at Register itself.
  struct __attribute__((packed, may_alias)) Unaligned {
    Register value;
  };
  Register parts[Count];

  __attribute__((always_inline)) void load(const double* from) {
#pragma GCC unroll 8
    for (int k = 0; k < Count; ++k) parts[k] = reinterpret_cast<const Unaligned*>(from + k * lanes)->value;
  }
  // NOLINTNEXTLINE(readability-non-const-parameter): the cast hides that it is written to
  __attribute__((always_inline)) void store(double* to) const {
#pragma GCC unroll 8
    for (int k = 0; k < Count; ++k) reinterpret_cast<Unaligned*>(to + k * lanes)->value = parts[k];
  }
  __attribute__((always_inline)) void clear() {
#pragma GCC unroll 8
    for (int k = 0; k < Count; ++k) parts[k] = Register{};
  }
  /// this += value * others
  __attribute__((always_inline)) void add_scaled(double value, const Elements& others) {
#pragma GCC unroll 8
    for (int k = 0; k < Count; ++k) parts[k] += value * others.parts[k];
  }
};

inline constexpr std::array instruction_sets{InstructionSet::portable, InstructionSet::avx2,
                                             InstructionSet::avx512};

/// A loop is a type with Operands and `template <typename Row> static void run(const Operands&)`, which is always
/// inlined; Row is one of Elements.
template <typename Loop>
using LoopFunction = void (*)(const typename Loop::Operands&);

template <typename Loop, typename Row>
void run_portable(const typename Loop::Operands& operands) {
  Loop::template run<Row>(operands);
}

#if defined(__x86_64__)
template <typename Loop, typename Row>
CG2D_AVX2 void run_avx2(const typename Loop::Operands& operands) {
  Loop::template run<Row>(operands);
}
template <typename Loop, typename Row>
CG2D_AVX512 void run_avx512(const typename Loop::Operands& operands) {
  Loop::template run<Row>(operands);
}
#endif

/// The loop of a set for 2, 4, 8 or 16 vectors. Throws std::invalid_argument for another number.
template <typename Loop>
LoopFunction<Loop> loop_for(InstructionSet set, int vector_count) {
  std::array<LoopFunction<Loop>, 4> of_counts{
      &run_portable<Loop, Elements<2, 1>>, &run_portable<Loop, Elements<2, 2>>,
      &run_portable<Loop, Elements<2, 4>>, &run_portable<Loop, Elements<2, 8>>};
#if defined(__x86_64__)
  if (set == InstructionSet::avx2) {
    of_counts = {&run_avx2<Loop, Elements<2, 1>>, &run_avx2<Loop, Elements<4, 1>>,
                 &run_avx2<Loop, Elements<4, 2>>, &run_avx2<Loop, Elements<4, 4>>};
  } else if (set == InstructionSet::avx512) {
    of_counts = {&run_avx512<Loop, Elements<2, 1>>, &run_avx512<Loop, Elements<4, 1>>,
                 &run_avx512<Loop, Elements<8, 1>>, &run_avx512<Loop, Elements<8, 2>>};
  }
#else
  static_cast<void>(set);
#endif
  for (std::size_t k = 0; k < of_counts.size(); ++k) {
    if (vector_counts[k] == vector_count) return of_counts[k];
  }
  throw std::invalid_argument("a kernel for several vectors takes 2, 4, 8 or 16 of them");
}

/// The set that is asked for, or the widest one: there are no gathers, and wider is never slower.
inline InstructionSet chosen_set(const KernelOptions& options) {
  return choose_instruction_set(options.instruction_set, of_this_processor(instruction_sets),
                                [] { return of_this_processor(instruction_sets).back(); });
}

}  // namespace several
}  // namespace cg2d::kernels
