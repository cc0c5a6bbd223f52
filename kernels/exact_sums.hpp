#pragma once

// Sums whose bits depend neither on the order of their terms nor on how these are cut into partial sums. Every term is cut into
// two parts, each a multiple of a unit that is the same for the whole sum; the units are so coarse that sums of such parts need no
// rounding, and what addition does not round has no order.
//
//   bound B: a power of two >= the sum of all |t|            N: a power of two >= the number of terms
//   first unit  u = B / 2^51         high = (3 B + t) - 3 B                  |high| <= |t| + u / 2, a multiple of u
//   second unit v = N u / 2 / 2^51   low  = (3 N u / 2 + rest) - 3 N u / 2   with rest = t - high, exactly, |rest| <= u / 2
//
// 3 B = 1.5 2^52 u, so that 3 B + t lies where doubles are multiples of u, and subtracting 3 B again is exact. All sums of highs are
// multiples of u below B + N u / 2 < 2^53 u, so doubles hold them; likewise those of lows. What is left of a term, at most v / 2, is
// dropped: the same for that term whatever is around it. The error of the whole sum is at most N v / 2 = N^2 B / 2^104 and the rounding
// of high + low. B is in the constants only: a larger one costs accuracy, not reproducibility.
//
// Needs rounding to nearest, and products that are rounded before they are added: sources with such sums are compiled
// without contraction (CMakeLists.txt).
//
// Source: S. M. Rump, T. Ogita, S. Oishi, Accurate floating-point summation part I, SIAM J. Sci. Comput. 31(1), 2008 (extraction);
// J. Demmel, H. D. Nguyen, Parallel reproducible summation, IEEE Trans. Comput. 64(7), 2015 (pre-rounding).

#include <cmath>
#include <cstdint>

namespace cg2d::kernels {

/// A sum, or a part of it. Parts of one sum are added member by member, which is exact; the sum is high + low.
struct ExactSum {
  double high = 0.0;
  double low = 0.0;
};

/// What is added to a term and subtracted again.
struct SplitConstants {
  double high = 0.0;
  double low = 0.0;

  /// bound, most_terms: B and N above.
  SplitConstants(double bound, double most_terms) : high(3.0 * bound), low(bound * low_factor(most_terms)) {}

  /// The second constant for B = 1.
  static double low_factor(double most_terms) { return 1.5 * most_terms * 0x1p-51; }
};

/// The least power of two that is no less than the magnitude of a number; 0, infinities and NaN stay as they are.
inline double power_of_two_for(double number) {
  if (number == 0.0 || !std::isfinite(number)) return number;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(number), &exponent);  // 0.5 <= fraction < 1
  return std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
}

}  // namespace cg2d::kernels
