#pragma once

// What the loops over SELL parts share.

#include <bit>
#include <cstdint>

namespace cg2d::kernels {

/// Number `Place` in memory of the four 16-bit columns of a word.
template <int Place>
constexpr std::uint64_t column_at(std::uint64_t word) {
  constexpr int shift = 16 * (std::endian::native == std::endian::little ? Place : 3 - Place);
  return (word >> shift) & 0xffff;
}

}  // namespace cg2d::kernels
