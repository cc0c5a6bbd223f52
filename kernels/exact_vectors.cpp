#include "kernels/exact_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/exact_vectors.cpp"
#include <hwy/foreach_target.h>

#include "kernels/exact_sums.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace exact_vectors {

// The loops are the same for all instruction sets, but for the register that Register fits; so are their results, whatever that is.

constexpr size_t lane_count = sizeof(Register) / sizeof(double);

void load_products(Register& target, const double* x, const double* y) {
  Register factors{};
  load_register(factors, x);
  load_register(target, y);
  target *= factors;
}

/// Numbers that are not greater than any other, such as NaN, are passed over.
void keep_largest(const Register& numbers, Register& largest) {
  const Register magnitudes = numbers < 0.0 ? -numbers : numbers;
  largest = magnitudes > largest ? magnitudes : largest;
}

/// load(register, k) loads the numbers from k on; number(k) is one of them.
template <typename Load, typename Number>
HWY_INLINE double largest_of(size_t size, const Load& load, const Number& number) {
  constexpr auto count = lane_count;
  Register first{};
  Register second{};
  size_t k = 0;
  for (; k + 2 * count <= size; k += 2 * count) {
    Register numbers{};
    load(numbers, k);
    keep_largest(numbers, first);
    load(numbers, k + count);
    keep_largest(numbers, second);
  }
  double largest = 0.0;
  for (size_t lane = 0; lane < count; ++lane) largest = std::max({largest, first[lane], second[lane]});
  for (; k < size; ++k) largest = std::max(largest, std::abs(number(k)));
  return largest;
}

double largest_magnitude(std::span<const double> x) {
  return largest_of(
      x.size(), [&](Register& numbers, size_t k) HWY_ATTR { load_register(numbers, x.data() + k); },
      [&](size_t k) HWY_ATTR { return x.data()[k]; });
}

double largest_product(std::span<const double> x, std::span<const double> y) {
  return largest_of(
      x.size(),
      [&](Register& products, size_t k) HWY_ATTR { load_products(products, x.data() + k, y.data() + k); },
      [&](size_t k) HWY_ATTR { return x.data()[k] * y.data()[k]; });
}

ExactSum dot(std::span<const double> x, std::span<const double> y, const SplitConstants& constants) {
  constexpr auto count = lane_count;
  const Register high = Register{} + constants.high;
  const Register low = Register{} + constants.low;
  RunningSums<Register> first{.high = high, .low = Register{}};
  RunningSums<Register> second{.high = high, .low = Register{}};
  size_t k = 0;
  for (; k + 2 * count <= x.size(); k += 2 * count) {
    Register terms{};
    load_products(terms, x.data() + k, y.data() + k);
    add_term(low, terms, first);
    load_products(terms, x.data() + k + count, y.data() + k + count);
    add_term(low, terms, second);
  }
  const Register highs = (first.high - high) + (second.high - high);
  const Register lows = first.low + second.low;
  RunningSums<double> rest{.high = constants.high, .low = 0.0};
  for (; k < x.size(); ++k) add_term(constants.low, x.data()[k] * y.data()[k], rest);
  ExactSum total{.high = rest.high - constants.high, .low = rest.low};
  for (size_t lane = 0; lane < count; ++lane) {
    total.high += highs[lane];
    total.low += lows[lane];
  }
  return total;
}

void add_scaled(double a, std::span<const double> x, std::span<double> y) {
  constexpr auto count = lane_count;
  size_t k = 0;
  for (; k + count <= y.size(); k += count) {
    Register products{};
    Register sums{};
    load_register(products, x.data() + k);
    load_register(sums, y.data() + k);
    products *= a;
    sums += products;
    std::memcpy(y.data() + k, &sums, sizeof(sums));
  }
  for (; k < y.size(); ++k) {
    const double product = a * x.data()[k];
    y.data()[k] += product;
  }
}

auto largest_magnitude_for(InstructionSet /*set*/) { return &largest_magnitude; }
auto largest_product_for(InstructionSet /*set*/) { return &largest_product; }
auto dot_for(InstructionSet /*set*/) { return &dot; }
auto add_scaled_for(InstructionSet /*set*/) { return &add_scaled; }

}  // namespace exact_vectors
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cg2d::kernels {
namespace {
namespace exact_vectors {

/// 256 bits: longer registers gain nothing here.
InstructionSet chosen_set() {
  static const auto set =
      choose_instruction_set({}, std::array{InstructionSet::portable, InstructionSet::fma});
  return set;
}

}  // namespace exact_vectors
}  // namespace

double largest_magnitude(std::span<const double> x) {
  return CG2D_OF_SET(exact_vectors::chosen_set(), exact_vectors::largest_magnitude_for)(x);
}

double largest_product(std::span<const double> x, std::span<const double> y) {
  return CG2D_OF_SET(exact_vectors::chosen_set(), exact_vectors::largest_product_for)(x, y);
}

ExactSum exact_dot(std::span<const double> x, std::span<const double> y, double bound, double most_terms) {
  return CG2D_OF_SET(exact_vectors::chosen_set(), exact_vectors::dot_for)(x, y,
                                                                          SplitConstants(bound, most_terms));
}

void add_scaled_rounded(double a, std::span<const double> x, std::span<double> y) {
  CG2D_OF_SET(exact_vectors::chosen_set(), exact_vectors::add_scaled_for)(a, x, y);
}

}  // namespace cg2d::kernels
#endif
