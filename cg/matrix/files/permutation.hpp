#pragma once

// A random order of 0 ... n-1 that takes no memory.

#include <array>
#include <cassert>

#include "cg/matrix/value_hash.hpp"

namespace cg2d {

/// 2^64 divided by the golden ratio: multiples of it are far apart.
inline constexpr uint64_t golden_ratio_bits = 0x9e3779b97f4a7c15U;

/// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), for multiples of golden_ratio_bits.
constexpr uint64_t splitmix_bits(uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

/// A permutation of 0 ... size-1 by a key: a Feistel network over the next even power of two, walked until it is
/// within the range (Black, Rogaway: Ciphers with Arbitrary Finite Domains, CT-RSA 2002). Every rank computes any
/// place of it, forward and backward. Cost: four rounds, on average up to four times over.
class RandomPermutation {
 public:
  /// size: 1 ... 2^31 - 1.
  RandomPermutation(int64_t size, uint64_t seed) : size_(size) {
    assert(size > 0);
    const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(size - 1)));
    half_bits_ = std::max(1, (bits + 1) / 2);
    half_mask_ = (uint64_t{1} << half_bits_) - 1;
    // Different keys for neighbouring seeds.
    for (size_t k = 0; k < keys_.size(); ++k) keys_[k] = mixed_bits(seed + (k + 1) * golden_ratio_bits);
  }

  int64_t operator()(int64_t index) const { return walked<false>(index); }
  int64_t inverse(int64_t index) const { return walked<true>(index); }

 private:
  static constexpr int round_count = 4;
  /// The inverse takes the keys in the other order, and both halves swapped.
  template <bool IsInverse>
  int64_t walked(int64_t index) const {
    auto value = static_cast<uint64_t>(index);
    do {
      uint64_t left = value >> half_bits_;
      uint64_t right = value & half_mask_;
      if (IsInverse) std::swap(left, right);
      for (int k = 0; k < round_count; ++k)
        left = std::exchange(right, left ^ round(right, IsInverse ? round_count - 1 - k : k));
      if (IsInverse) std::swap(left, right);
      value = (left << half_bits_) | right;
    } while (value >= static_cast<uint64_t>(size_));
    return static_cast<int64_t>(value);
  }
  uint64_t round(uint64_t half, int number) const {
    return mixed_bits(half ^ keys_[static_cast<size_t>(number)]) & half_mask_;
  }

  int64_t size_;
  int half_bits_;
  uint64_t half_mask_;
  std::array<uint64_t, round_count> keys_{};
};

}  // namespace cg2d
