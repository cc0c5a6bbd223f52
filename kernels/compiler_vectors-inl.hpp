// Registers of the compiler's vector extensions, for loops whose lengths are constants: small dense blocks, and the elements of a row of several
// vectors. Included once for each processor that a source is compiled for: see vector_targets.hpp.

#if defined(CG2D_KERNELS_COMPILER_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CG2D_KERNELS_COMPILER_VECTORS_INL_HPP
#undef CG2D_KERNELS_COMPILER_VECTORS_INL_HPP
#else
#define CG2D_KERNELS_COMPILER_VECTORS_INL_HPP
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/spmv.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {

/// For small dense blocks.
namespace dense {

using TwoLanes = double __attribute__((vector_size(2 * sizeof(double))));
using FourLanes = double __attribute__((vector_size(4 * sizeof(double))));
/// Four lanes at most: eight are slower (Zen 4, kernel "blocks": 0.40, 3.5, 9.4 instead of 0.31, 3.1, 8.6 ms for classes A, B and C), since
/// more rows and columns end within a register.
using Lanes = std::conditional_t<register_bytes >= sizeof(FourLanes), FourLanes, TwoLanes>;
constexpr int64_t lanes = sizeof(Lanes) / sizeof(double);

template <typename Vector>
HWY_INLINE Vector load(const double* source) {
  Vector loaded;
  std::memcpy(&loaded, source, sizeof(loaded));
  return loaded;
}

template <typename Vector>
HWY_INLINE void store(double* target, Vector vector) {
  std::memcpy(target, &vector, sizeof(vector));
}

/// Lane k is the sum of the lanes of vectors[k].
template <typename Vector>
HWY_INLINE Vector sums_of(const Vector* vectors) {
  if constexpr (sizeof(Vector) == sizeof(TwoLanes)) {
    return __builtin_shufflevector(vectors[0], vectors[1], 0, 2) +
           __builtin_shufflevector(vectors[0], vectors[1], 1, 3);
  } else {
    const Vector low = __builtin_shufflevector(vectors[0], vectors[1], 0, 4, 2, 6) +
                       __builtin_shufflevector(vectors[0], vectors[1], 1, 5, 3, 7);
    const Vector high = __builtin_shufflevector(vectors[2], vectors[3], 0, 4, 2, 6) +
                        __builtin_shufflevector(vectors[2], vectors[3], 1, 5, 3, 7);
    return __builtin_shufflevector(low, high, 0, 1, 4, 5) + __builtin_shufflevector(low, high, 2, 3, 6, 7);
  }
}

}  // namespace dense

// ---------------------------------------------------------------- several vectors

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

/// The elements of one row of all vectors, in registers.
template <int Lanes, int Count>
struct Elements {
  using Part = typename RegisterOf<Lanes>::Type;
  static_assert(sizeof(Part) == Lanes * sizeof(double));
  static constexpr int64_t lanes = Lanes;
  static constexpr int64_t size = lanes * Count;
  using OfOneRegister = Elements<Lanes, 1>;
  /// A register at any multiple of 8 bytes. clang 14 forgets an alignment that stands at Part itself.
  struct __attribute__((packed, may_alias)) Unaligned {
    Part value;
  };
  Part parts[Count];

  HWY_INLINE void load(const double* from) {
#pragma GCC unroll 8
    for (int k = 0; k < Count; ++k) parts[k] = reinterpret_cast<const Unaligned*>(from + k * lanes)->value;
  }
  // NOLINTNEXTLINE(readability-non-const-parameter): the cast hides that it is written to
  HWY_INLINE void store(double* to) const {
#pragma GCC unroll 8
    for (int k = 0; k < Count; ++k) reinterpret_cast<Unaligned*>(to + k * lanes)->value = parts[k];
  }
  HWY_INLINE void clear() {
#pragma GCC unroll 8
    for (int k = 0; k < Count; ++k) parts[k] = Part{};
  }
  /// this += value * others
  HWY_INLINE void add_scaled(double value, const Elements& others) {
#pragma GCC unroll 8
    for (int k = 0; k < Count; ++k) parts[k] += value * others.parts[k];
  }
};

/// make(row) with the type of the elements of one row of so many vectors, one of vector_counts, in the longest registers that are no longer than
/// they are: std::type_identity of Elements.
template <size_t Place = 0, typename Make>
auto with_row_of(int vector_count, Make make) {
  constexpr int count = vector_counts[Place];
  if constexpr (Place + 1 < vector_counts.size()) {
    if (vector_count > count) return with_row_of<Place + 1>(vector_count, make);
  }
  constexpr int lanes = std::min<int>(count, register_bytes / sizeof(double));
  return make(std::type_identity<Elements<lanes, count / lanes>>());
}

}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
