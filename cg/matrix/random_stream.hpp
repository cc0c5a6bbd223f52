#pragma once

// The random number generator of the NAS benchmarks.

#include <cstdint>

namespace cg2d {

/// s <- 5^13 * s mod 2^46; the number drawn is s * 2^-46 (RNR-94-007, section 2.3). Integer arithmetic is
/// exact here, so no splitting into halves is needed.
class RandomStream {
 public:
  static constexpr uint64_t first_seed = 314'159'265;

  explicit RandomStream(uint64_t seed = first_seed) : state_(seed) {}

  /// Advances by one draw and returns the state: an integer below 2^46.
  uint64_t next() {
    state_ = (state_ * multiplier) & mask;
    return state_;
  }
  /// Advances by `count` draws in log2(count) steps.
  void jump(uint64_t count) {
    uint64_t power = multiplier;  // multiplier^(2^bit), wrapping modulo 2^64 keeps the low 46 bits right
    for (; count != 0; count >>= 1) {
      if ((count & 1) != 0) state_ = (state_ * power) & mask;
      power = (power * power) & mask;
    }
  }
  uint64_t state() const { return state_; }

  /// The number in (0, 1) of a state; exact.
  static double number(uint64_t state) { return static_cast<double>(state) * 0x1p-46; }
  /// floor(2^bit_count * number(state)); exact.
  static uint64_t leading_bits(uint64_t state, int bit_count) { return state >> (46 - bit_count); }

 private:
  static constexpr uint64_t multiplier = 1'220'703'125;
  static constexpr uint64_t mask = (uint64_t{1} << 46) - 1;

  uint64_t state_;
};

}  // namespace cg2d
