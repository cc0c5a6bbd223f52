#pragma once

// A random order of 0 ... n-1 that takes no memory.

#include <array>
#include <cstdint>

namespace cg2d {

/// A permutation of 0 ... size-1 by a key: a Feistel network over the next even power of two, walked until it is
/// within the range (Black, Rogaway: Ciphers with Arbitrary Finite Domains, CT-RSA 2002). Every rank computes any
/// place of it, forward and backward. Cost: four rounds, on average up to four times over.
class RandomPermutation {
 public:
  /// size: 1 ... 2^31 - 1.
  RandomPermutation(std::int64_t size, std::uint64_t seed);

  [[nodiscard]] std::int64_t operator()(std::int64_t index) const;
  [[nodiscard]] std::int64_t inverse(std::int64_t index) const;

 private:
  static constexpr int round_count = 4;
  template <bool is_inverse>
  [[nodiscard]] std::int64_t walked(std::int64_t index) const;
  [[nodiscard]] std::uint64_t round(std::uint64_t half, int number) const;

  std::int64_t size_;
  int half_bits_;
  std::uint64_t half_mask_;
  std::array<std::uint64_t, round_count> keys_{};
};

/// 2^64 divided by the golden ratio: multiples of it are far apart.
inline constexpr std::uint64_t golden_ratio_bits = 0x9e3779b97f4a7c15U;

/// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), for multiples of golden_ratio_bits.
constexpr std::uint64_t splitmix_bits(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

}  // namespace cg2d
