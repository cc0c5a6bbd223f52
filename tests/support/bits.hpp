#pragma once

// Doubles compared by their bits: 0 is not -0, and NaN is itself.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace cg2d::test {

inline bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

inline bool same_bits(std::span<const double> a, std::span<const double> b) {
  return std::ranges::equal(a, b, [](double x, double y) { return same_bits(x, y); });
}

}  // namespace cg2d::test
