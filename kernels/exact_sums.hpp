#pragma once

// Sums whose bits depend neither on the order of their terms nor on how these are cut into partial sums. Every term is cut into
// two parts, each a multiple of a unit that is the same for the whole sum; the units are so coarse that sums of such parts need no
// rounding, and what addition does not round has no order.
//
//   bound B: a power of two >= the sum of all |t|            N: a power of two >= the number of terms, at most 2^50
//   first unit  u = B / 2^50         high = (6 B + t) - 6 B                  |high| <= |t| + u / 2, a multiple of u
//   second unit v = N u / 2 / 2^51   low  = (3 N u / 2 + rest) - 3 N u / 2   with rest = t - high, exactly, |rest| <= u / 2
//
// 6 B = 1.5 2^52 u, so that 6 B + t lies where doubles are multiples of u, and subtracting 6 B again is exact. All sums of highs are
// multiples of u below B + N u / 2 < 2^51 u, so doubles hold them; likewise those of lows. What is left of a term, at most v / 2, is
// dropped: the same for that term whatever is around it. The error of the whole sum is at most N v / 2 = N^2 B / 2^103 and the rounding
// of high + low. B is in the constants only: a larger one costs accuracy, not reproducibility.
//
// RunningSums saves an operation: a sum that begins with 6 B never leaves the binade from 4 B to 8 B, where doubles are multiples of u,
//
//   next = sum + t       high = next - sum, exactly
//
// Only a term in the middle between two multiples of u may be cut in another way than above: the even one of next is taken. Then rest
// differs by u, which is an even multiple of v, so low differs by just that, and what is dropped is the same. So the two ways, and
// two orders, may give other highs and lows, but the exact value of the sum of both, which is what is rounded at the end, is the same.
//
// Needs rounding to nearest, and products that are rounded before they are added: sources with such sums are compiled
// without contraction (CMakeLists.txt).
//
// Source: S. M. Rump, T. Ogita, S. Oishi, Accurate floating-point summation part I, SIAM J. Sci. Comput. 31(1), 2008 (extraction);
// J. Demmel, H. D. Nguyen, Parallel reproducible summation, IEEE Trans. Comput. 64(7), 2015 (pre-rounding).

#include <cmath>
#include <cstdint>
#include <span>

namespace cg2d::kernels {

/// A sum, or a part of it. Parts of one sum are added member by member, which is exact; the sum is high + low.
struct ExactSum {
  double high = 0.0;
  double low = 0.0;
};

/// The numbers that are added to a term and subtracted again.
struct SplitConstants {
  double high = 0.0;
  double low = 0.0;

  /// bound, most_terms: B and N above.
  SplitConstants(double bound, double most_terms)
      : high(high_factor * bound), low(bound * low_factor(most_terms)) {}

  /// The constants for B = 1.
  static constexpr double high_factor = 6.0;
  static constexpr double high_binade = 4.0;  ///< the greatest power of two in it
  static double low_factor(double most_terms) { return 1.5 * most_terms * 0x1p-50; }
};

/// Sums under way, one in each lane of a vector type, or a single one. high includes SplitConstants::high, with which it begins.
template <typename Lanes>
struct RunningSums {
  Lanes high;
  Lanes low;
};

/// Adds a term to each. low_constant: SplitConstants::low of each. Always inlined: into functions for an instruction set.
template <typename Lanes>
inline __attribute__((always_inline)) void add_term(const Lanes& low_constant, const Lanes& term,
                                                    RunningSums<Lanes>& sums) {
  const Lanes next = sums.high + term;
  const Lanes rest = term - (next - sums.high);
  sums.high = next;
  sums.low += (low_constant + rest) - low_constant;
}

/// The least power of two that is no less than the magnitude of a number; 0, infinities and NaN stay as they are.
inline double power_of_two_for(double number) {
  if (number == 0.0 || !std::isfinite(number)) return number;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(number), &exponent);  // 0.5 <= fraction < 1
  return std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
}

// Vector operations with the same bits for every element wherever it stands in a vector, and dot products that do not depend on the order of their
// terms.

/// The largest magnitude, 0 for no elements; NaN is passed over.
[[nodiscard]] double largest_magnitude(std::span<const double> x);
/// The largest magnitude of the products x1 y1, ..., xn yn.
[[nodiscard]] double largest_product(std::span<const double> x, std::span<const double> y);
/// This part of x . y. bound, most_terms: those of exact_sums.hpp for the whole vectors.
[[nodiscard]] ExactSum exact_dot(std::span<const double> x, std::span<const double> y, double bound,
                                 double most_terms);
/// y := y + a x, each product rounded before the addition.
void add_scaled_rounded(double a, std::span<const double> x, std::span<double> y);

}  // namespace cg2d::kernels
