#pragma once

// Hashes of the entries of a matrix by their places: their sums do not depend on the cut.

#include <algorithm>
#include <bit>

#include "kernels/csr_block.hpp"

namespace cg2d {

/// A mixer of 64 bits in which every input bit changes every output bit: the finalizer of MurmurHash3.
constexpr uint64_t mixed_bits(uint64_t bits) {
  bits ^= bits >> 33;
  bits *= 0xff51afd7ed558ccdU;
  bits ^= bits >> 33;
  bits *= 0xc4ceb9fe1a85ec53U;
  return bits ^ (bits >> 33);
}

/// The hash of a place of a matrix of less than 2^32 rows and of its mirror, alike.
constexpr uint64_t hash_of_pair(int64_t row, int64_t column) {
  const auto high = static_cast<uint64_t>(std::min(row, column));
  return mixed_bits((high << 32U) | static_cast<uint32_t>(std::max(row, column)));
}

/// The hash of an element by its index and its bits.
constexpr uint64_t hash_of_element(int64_t index, double value) {
  return mixed_bits(mixed_bits(static_cast<uint64_t>(index)) ^ std::bit_cast<uint64_t>(value));
}

/// The place of a block in its matrix.
struct BlockOrigin {
  int64_t first_row = 0;
  int64_t first_column = 0;
  int64_t order = 0;  ///< order of the matrix
};
/// The sum of hash_of_element() over the entries of a block, by their places in the matrix. Cost: one pass over the entries.
inline uint64_t value_sum(const kernels::CsrBlock& block, const BlockOrigin& origin) {
  uint64_t sum = 0;
  for (int64_t row = 0; row < block.row_count; ++row) {
    const auto row_begin = (origin.first_row + row) * origin.order + origin.first_column;
    const auto columns = block.columns_of(row);
    const auto values = block.values_of(row);
    for (size_t k = 0; k < columns.size(); ++k) sum += hash_of_element(row_begin + columns[k], values[k]);
  }
  return sum;
}

}  // namespace cg2d
