// Loops for several vectors: the elements of a row, and the loops by the number of vectors. Included once for each processor that a source
// is compiled for: see vector_targets.hpp.

#if defined(CG2D_KERNELS_SEVERAL_LOOPS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CG2D_KERNELS_SEVERAL_LOOPS_INL_HPP
#undef CG2D_KERNELS_SEVERAL_LOOPS_INL_HPP
#else
#define CG2D_KERNELS_SEVERAL_LOOPS_INL_HPP
#endif

#include <algorithm>
#include <type_traits>

#include "kernels/spmv.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {

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
