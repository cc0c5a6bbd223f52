// Sums in vectors whose bits do not depend on order: see exact_sums.hpp, which says how a source with them is compiled.
// Included once for each processor that a source is compiled for: see vector_targets.hpp.

#if defined(CG2D_KERNELS_EXACT_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CG2D_KERNELS_EXACT_VECTORS_INL_HPP
#undef CG2D_KERNELS_EXACT_VECTORS_INL_HPP
#else
#define CG2D_KERNELS_EXACT_VECTORS_INL_HPP
#endif

#include "kernels/exact_sums.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {

/// add_term() for each lane. high and low: RunningSums.
template <typename Vector>
HWY_INLINE void add_terms(Vector low_constants, Vector terms, Vector& high, Vector& low) {
  const auto next = hn::Add(high, terms);
  const auto rest = hn::Sub(terms, hn::Sub(next, high));
  high = next;
  low = hn::Add(low, hn::Sub(hn::Add(low_constants, rest), low_constants));
}

}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
