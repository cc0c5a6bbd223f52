#include "cg/matrix/value_hash.hpp"

#include <bit>

namespace cg2d {

std::uint64_t hash_of_element(std::int64_t index, double value) {
  return mixed_bits(mixed_bits(static_cast<std::uint64_t>(index)) ^ std::bit_cast<std::uint64_t>(value));
}

std::uint64_t value_sum(const kernels::CsrBlock& block, const BlockOrigin& origin) {
  std::uint64_t sum = 0;
  for (std::int64_t row = 0; row < block.row_count; ++row) {
    const auto begin = static_cast<std::size_t>(block.row_starts[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(block.row_starts[static_cast<std::size_t>(row) + 1]);
    for (auto k = begin; k < end; ++k) {
      const auto index = (origin.first_row + row) * origin.order + origin.first_column + block.columns[k];
      sum += hash_of_element(index, block.values[k]);
    }
  }
  return sum;
}

}  // namespace cg2d
