#include "kernels/exact_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu_features.hpp"
#include "kernels/simd.hpp"

namespace cg2d::kernels {
namespace {
namespace exact_vectors {

// The loops are the same for all instruction sets, but for the register that Lanes fits; so are their results, whatever that is.

template <typename Lanes>
constexpr std::size_t lane_count = sizeof(Lanes) / sizeof(double);

template <typename Lanes>
CG2D_INLINE void load_products(Lanes& target, const double* x, const double* y) {
  Lanes factors{};
  load_lanes(factors, x);
  load_lanes(target, y);
  target *= factors;
}

/// Numbers that are not greater than any other, such as NaN, are passed over.
template <typename Lanes>
CG2D_INLINE void keep_largest(const Lanes& numbers, Lanes& largest) {
  const Lanes magnitudes = numbers < 0.0 ? -numbers : numbers;
  largest = magnitudes > largest ? magnitudes : largest;
}

template <typename Lanes>
CG2D_INLINE double largest_of(const Lanes& first, const Lanes& second) {
  double largest = 0.0;
  for (std::size_t lane = 0; lane < lane_count<Lanes>; ++lane)
    largest = std::max({largest, first[lane], second[lane]});
  return largest;
}

template <typename Lanes>
CG2D_INLINE double largest_magnitude(std::span<const double> x) {
  constexpr auto count = lane_count<Lanes>;
  Lanes first{};
  Lanes second{};
  std::size_t k = 0;
  for (; k + 2 * count <= x.size(); k += 2 * count) {
    Lanes numbers{};
    load_lanes(numbers, x.data() + k);
    keep_largest(numbers, first);
    load_lanes(numbers, x.data() + k + count);
    keep_largest(numbers, second);
  }
  double largest = largest_of(first, second);
  for (; k < x.size(); ++k) largest = std::max(largest, std::abs(x.data()[k]));
  return largest;
}

template <typename Lanes>
CG2D_INLINE double largest_product(std::span<const double> x, std::span<const double> y) {
  constexpr auto count = lane_count<Lanes>;
  Lanes first{};
  Lanes second{};
  std::size_t k = 0;
  for (; k + 2 * count <= x.size(); k += 2 * count) {
    Lanes products{};
    load_products(products, x.data() + k, y.data() + k);
    keep_largest(products, first);
    load_products(products, x.data() + k + count, y.data() + k + count);
    keep_largest(products, second);
  }
  double largest = largest_of(first, second);
  for (; k < x.size(); ++k) largest = std::max(largest, std::abs(x.data()[k] * y.data()[k]));
  return largest;
}

template <typename Lanes>
CG2D_INLINE ExactSum dot(std::span<const double> x, std::span<const double> y,
                         const SplitConstants& constants) {
  constexpr auto count = lane_count<Lanes>;
  const Lanes high = Lanes{} + constants.high;
  const Lanes low = Lanes{} + constants.low;
  RunningSums<Lanes> first{.high = high, .low = Lanes{}};
  RunningSums<Lanes> second{.high = high, .low = Lanes{}};
  std::size_t k = 0;
  for (; k + 2 * count <= x.size(); k += 2 * count) {
    Lanes terms{};
    load_products(terms, x.data() + k, y.data() + k);
    add_term(low, terms, first);
    load_products(terms, x.data() + k + count, y.data() + k + count);
    add_term(low, terms, second);
  }
  const Lanes highs = (first.high - high) + (second.high - high);
  const Lanes lows = first.low + second.low;
  RunningSums<double> rest{.high = constants.high, .low = 0.0};
  for (; k < x.size(); ++k) add_term(constants.low, x.data()[k] * y.data()[k], rest);
  ExactSum total{.high = rest.high - constants.high, .low = rest.low};
  for (std::size_t lane = 0; lane < count; ++lane) {
    total.high += highs[lane];
    total.low += lows[lane];
  }
  return total;
}

template <typename Lanes>
CG2D_INLINE void add_scaled(double a, std::span<const double> x, std::span<double> y) {
  constexpr auto count = lane_count<Lanes>;
  std::size_t k = 0;
  for (; k + count <= y.size(); k += count) {
    Lanes products{};
    Lanes sums{};
    load_lanes(products, x.data() + k);
    load_lanes(sums, y.data() + k);
    products *= a;
    sums += products;
    std::memcpy(y.data() + k, &sums, sizeof(sums));
  }
  for (; k < y.size(); ++k) {
    const double product = a * x.data()[k];
    y.data()[k] += product;
  }
}

#if defined(__x86_64__)
CG2D_FMA double largest_magnitude_fma(std::span<const double> x) { return largest_magnitude<FourLanes>(x); }
CG2D_FMA double largest_product_fma(std::span<const double> x, std::span<const double> y) {
  return largest_product<FourLanes>(x, y);
}
CG2D_FMA ExactSum dot_fma(std::span<const double> x, std::span<const double> y,
                          const SplitConstants& constants) {
  return dot<FourLanes>(x, y, constants);
}
CG2D_FMA void add_scaled_fma(double a, std::span<const double> x, std::span<double> y) {
  add_scaled<FourLanes>(a, x, y);
}

bool has_fma() {
  static const bool has = widest_instruction_set() != InstructionSet::portable;
  return has;
}
#endif

}  // namespace exact_vectors
}  // namespace

double largest_magnitude(std::span<const double> x) {
#if defined(__x86_64__)
  if (exact_vectors::has_fma()) return exact_vectors::largest_magnitude_fma(x);
#endif
  return exact_vectors::largest_magnitude<TwoLanes>(x);
}

double largest_product(std::span<const double> x, std::span<const double> y) {
#if defined(__x86_64__)
  if (exact_vectors::has_fma()) return exact_vectors::largest_product_fma(x, y);
#endif
  return exact_vectors::largest_product<TwoLanes>(x, y);
}

ExactSum exact_dot(std::span<const double> x, std::span<const double> y, double bound, double most_terms) {
  const SplitConstants constants(bound, most_terms);
#if defined(__x86_64__)
  if (exact_vectors::has_fma()) return exact_vectors::dot_fma(x, y, constants);
#endif
  return exact_vectors::dot<TwoLanes>(x, y, constants);
}

void add_scaled_rounded(double a, std::span<const double> x, std::span<double> y) {
#if defined(__x86_64__)
  if (exact_vectors::has_fma()) return exact_vectors::add_scaled_fma(a, x, y);
#endif
  exact_vectors::add_scaled<TwoLanes>(a, x, y);
}

}  // namespace cg2d::kernels
