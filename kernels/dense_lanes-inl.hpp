// Vectors of the compiler for small dense blocks, whose lengths are constants. Included once for each processor that a source is compiled
// for: see vector_targets.hpp.

#if defined(CG2D_KERNELS_DENSE_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CG2D_KERNELS_DENSE_LANES_INL_HPP
#undef CG2D_KERNELS_DENSE_LANES_INL_HPP
#else
#define CG2D_KERNELS_DENSE_LANES_INL_HPP
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE::dense {

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

}  // namespace cg2d::kernels::HWY_NAMESPACE::dense
HWY_AFTER_NAMESPACE();

#endif
