#include "cg/matrix/files/permutation.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "cg/matrix/value_hash.hpp"

namespace cg2d {

RandomPermutation::RandomPermutation(std::int64_t size, std::uint64_t seed) : size_(size) {
  assert(size > 0);
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size - 1)));
  half_bits_ = std::max(1, (bits + 1) / 2);
  half_mask_ = (std::uint64_t{1} << half_bits_) - 1;
  // Different keys for neighbouring seeds.
  for (std::size_t k = 0; k < keys_.size(); ++k) keys_[k] = mixed_bits(seed + (k + 1) * golden_ratio_bits);
}

std::uint64_t RandomPermutation::round(std::uint64_t half, int number) const {
  return mixed_bits(half ^ keys_[static_cast<std::size_t>(number)]) & half_mask_;
}

/// The inverse takes the keys in the other order, and both halves swapped.
template <bool is_inverse>
std::int64_t RandomPermutation::walked(std::int64_t index) const {
  auto value = static_cast<std::uint64_t>(index);
  do {
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & half_mask_;
    if (is_inverse) std::swap(left, right);
    for (int k = 0; k < round_count; ++k)
      left = std::exchange(right, left ^ round(right, is_inverse ? round_count - 1 - k : k));
    if (is_inverse) std::swap(left, right);
    value = (left << half_bits_) | right;
  } while (value >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(value);
}

std::int64_t RandomPermutation::operator()(std::int64_t index) const { return walked<false>(index); }
std::int64_t RandomPermutation::inverse(std::int64_t index) const { return walked<true>(index); }

}  // namespace cg2d
