// Means of loops over vectors: see vector_targets.hpp. Included once for each processor that a source is compiled for.

#if defined(CG2D_KERNELS_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CG2D_KERNELS_VECTORS_INL_HPP
#undef CG2D_KERNELS_VECTORS_INL_HPP
#else
#define CG2D_KERNELS_VECTORS_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cpu_features.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Fetches what lies `distance` after these into the second-level cache: the first-level one is for the
/// operands. (SELL, Zen 4, 2026-11, class A: fetching into the first-level one takes 0.66 instead of 0.35 ns
/// per nonzero.) Always inlined: otherwise gcc 12 takes it for a function without effect and drops the calls
/// in loops for other instruction sets.
template <typename Number>
HWY_INLINE void prefetch(const Number* numbers, int64_t distance) {
  constexpr int for_reading = 0;
  constexpr int second_level = 2;
  __builtin_prefetch(numbers + distance, for_reading, second_level);
}
template <typename Column>
HWY_INLINE void prefetch_entries(const double* values, const Column* columns, int64_t distance) {
  prefetch(values, distance);
  prefetch(columns, distance);
}

/// A register of the compiler's vector extensions, for loops whose order of additions follows its length. (gcc 12 keeps vectors that are
/// longer than a register in memory.)
#if HWY_HAVE_SCALABLE
constexpr size_t register_bytes = 16;
#else
constexpr size_t register_bytes = HWY_MAX_BYTES;
#endif
using Register = double __attribute__((vector_size(register_bytes)));

HWY_INLINE void load_register(Register& target, const double* source) {
  std::memcpy(&target, source, sizeof(target));
}

template <typename D>
using VectorOf = hn::VFromD<D>;

template <typename D>
HWY_INLINE VectorOf<D> two_lanes(D d, double first, double second) {
#if HWY_HAVE_SCALABLE
  return hn::IfThenElse(hn::FirstN(d, 1), hn::Set(d, first), hn::Set(d, second));
#elif HWY_TARGET == HWY_EMU128
  auto both = hn::Set(d, first);
  both.raw[1] = second;
  return both;
#else
  (void)d;
  return VectorOf<D>{decltype(VectorOf<D>::raw){first, second}};
#endif
}

/// Four columns of 16 bits in one load. A core loads two floating-point operands per clock, whatever their width.
struct FourColumns {
  uint64_t word = 0;

  explicit HWY_INLINE FourColumns(const uint16_t* columns) { std::memcpy(&word, columns, sizeof(word)); }
  HWY_INLINE uint64_t at(int64_t place) const {
    return (word >> (16 * (std::endian::native == std::endian::little ? place : 3 - place))) & 0xffff;
  }
};

#if !HWY_HAVE_SCALABLE
/// A vector out of single loads: elements of p. D has at least two lanes.
///
/// ns per nonzero of classes S, A and B in SELL, one thread:
///   Zen 5, 2026-11: four lanes per register 0.229 0.259 0.37, two lanes 0.254 0.281 0.37,
///     gathers of four 0.40 (A) 0.46 (B), of eight 0.53 0.61
///   Zen 4, 2026-11: four lanes 0.289 (A) 0.455 (B), two lanes 0.312 0.474
struct SingleLoads {
  static constexpr bool are_gathered = false;
  static constexpr bool has_masks = false;

  template <typename D, typename Column>
  static HWY_INLINE VectorOf<D> load(D d, const double* p, const Column* columns) {
    constexpr size_t lanes = hn::MaxLanes(d);
    if constexpr (lanes == 2) {
      return two_lanes(d, p[columns[0]], p[columns[1]]);
    } else {
      const hn::Half<D> half;
      if constexpr (lanes == 4 && sizeof(Column) == sizeof(uint16_t)) {
        const FourColumns four(columns);
        return hn::Combine(d, two_lanes(half, p[four.at(2)], p[four.at(3)]),
                           two_lanes(half, p[four.at(0)], p[four.at(1)]));
      } else {
        return hn::Combine(d, load(half, p, columns + lanes / 2), load(half, p, columns));
      }
    }
  }
};
#endif

#if HWY_TARGET != HWY_STATIC_TARGET || HWY_HAVE_SCALABLE
/// A vector by a gather: elements of p.
struct Gathers {
  static constexpr bool are_gathered = true;
  static constexpr bool has_masks = !HWY_MEM_OPS_MIGHT_FAULT;

  template <typename D, typename Column>
  static HWY_INLINE VectorOf<D> load(D d, const double* p, const Column* columns) {
    return at(d, p, places(d, columns));
  }

  /// The first `count` elements, and zeros; nothing behind the first `count` columns is read.
  template <typename D, typename Column>
  static HWY_INLINE VectorOf<D> load_first(D d, size_t count, const double* p, const Column* columns) {
    const auto mask = hn::FirstN(d, count);
#if HWY_TARGET == HWY_SVE
    return svld1_gather_index(mask, p, widened(mask, columns));
#else
    const hn::Rebind<Column, D> of_columns;
    const auto first = hn::MaskedLoad(hn::FirstN(of_columns, count), of_columns, columns);
    return hn::IfThenElseZero(mask, at(d, p, widened(d, first)));
#endif
  }

#if HWY_TARGET == HWY_SVE
  // One instruction loads columns and widens them; by Highway's operations it takes six (clang and gcc 12).
  template <typename D>
  using Places = VectorOf<hn::RebindToSigned<D>>;

  template <typename D, typename Column>
  static HWY_INLINE Places<D> places(D d, const Column* columns) {
    return widened(hn::FirstN(d, hn::Lanes(d)), columns);
  }
#else
  template <typename D>
  using Places = VectorOf<hn::Rebind<int32_t, D>>;

  template <typename D, typename Column>
  static HWY_INLINE Places<D> places(D d, const Column* columns) {
    return widened(d, hn::LoadU(hn::Rebind<Column, D>(), columns));
  }
#endif

  // Highway gathers and scatters by indices of 64 bits, which is 10 % slower with AVX-512 (SELL, Zen 5, 2026-11). With a mask of all lanes:
  // gcc 12 warns of the undefined register that a gather without one begins with.
  template <typename D>
  static HWY_INLINE VectorOf<D> at(D d, const double* p, Places<D> places) {
#if HWY_TARGET == HWY_AVX3
    if constexpr (hn::MaxLanes(d) == 8)
      return VectorOf<D>{_mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, places.raw, p, sizeof(double))};
#endif
    return hn::GatherIndex(d, p, of_64_bits(d, places));
  }

  /// No place twice.
  template <typename D>
  static HWY_INLINE void scatter(D d, VectorOf<D> vector, double* q, Places<D> places) {
#if HWY_TARGET == HWY_AVX3
    (void)d;
    _mm512_i32scatter_pd(q, places.raw, vector.raw, sizeof(double));
#else
    hn::ScatterIndex(vector, d, q, of_64_bits(d, places));
#endif
  }

 private:
#if HWY_TARGET == HWY_SVE
  static HWY_INLINE svint64_t widened(svbool_t mask, const uint16_t* columns) {
    return svld1uh_s64(mask, columns);
  }
  static HWY_INLINE svint64_t widened(svbool_t mask, const int32_t* columns) {
    return svld1sw_s64(mask, columns);
  }
  template <typename D>
  static HWY_INLINE svint64_t of_64_bits(D /*d*/, svint64_t places) {
    return places;
  }
#else
  template <typename D>
  static HWY_INLINE Places<D> widened(D /*d*/, VectorOf<hn::Rebind<int32_t, D>> columns) {
    return columns;
  }
  template <typename D>
  static HWY_INLINE Places<D> widened(D /*d*/, VectorOf<hn::Rebind<uint16_t, D>> columns) {
    return hn::PromoteTo(hn::Rebind<int32_t, D>(), columns);
  }
  template <typename D>
  static HWY_INLINE auto of_64_bits(D /*d*/, Places<D> places) {
    return hn::PromoteTo(hn::Rebind<int64_t, D>(), places);
  }
#endif
};
#endif

/// What takes the least time where not many vectors are loaded.
#if HWY_HAVE_SCALABLE
using FewElements = Gathers;
#else
using FewElements = SingleLoads;
#endif

/// make(elements) with what loads elements of p in loops for a set.
template <typename Make>
auto with_elements_of([[maybe_unused]] InstructionSet set, Make make) {
#if HWY_TARGET == HWY_AVX2
  return set == InstructionSet::fma ? make(SingleLoads()) : make(Gathers());
#elif HWY_TARGET == HWY_STATIC_TARGET && !HWY_HAVE_SCALABLE
  return make(SingleLoads());
#else
  return make(Gathers());
#endif
}

/// make(registers) with as many registers side by side, as a constant, as the lanes of a chunk take: 1, 2 or 4, and no more than MostRegisters.
template <size_t ChunkLanes, int MostRegisters, typename Make>
auto with_registers_for(Make make) {
  const hn::CappedTag<double, ChunkLanes> d;
#if HWY_HAVE_SCALABLE
  const auto registers = ChunkLanes / hn::Lanes(d);
  if constexpr (MostRegisters >= 4) {
    if (registers >= 4) return make(std::integral_constant<int, 4>());
  }
  return registers >= 2 ? make(std::integral_constant<int, 2>()) : make(std::integral_constant<int, 1>());
#else
  return make(std::integral_constant<int, std::min<int>(MostRegisters, ChunkLanes / hn::MaxLanes(d))>());
#endif
}

/// The sum of all lanes: of neighbours, then of neighbouring sums, and so on.
template <typename D>
HWY_INLINE double sum_of_lanes(D d, VectorOf<D> vector) {
#if HWY_HAVE_SCALABLE
  return hn::GetLane(hn::SumOfLanes(d, vector));
#else
  constexpr size_t count = hn::MaxLanes(d);
  double sums[count];
  hn::StoreU(vector, d, sums);
#pragma GCC unroll 4
  for (size_t rest = count / 2; rest > 0; rest /= 2)
#pragma GCC unroll 4
    for (size_t k = 0; k < rest; ++k) sums[k] = sums[2 * k] + sums[2 * k + 1];
  return sums[0];
#endif
}

}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
