#pragma once

// Blocks with half storage whose pattern is a union of dense blocks over scattered indices.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "kernels/csr_block.hpp"

namespace cg2d::test {

/// The value of each pair of the lesser and the greater index.
using MirroredPairs = std::map<std::pair<std::int32_t, std::int32_t>, double>;

inline double positive_value(std::mt19937_64& random) {
  return std::ldexp(static_cast<double>(1 + random() % 1000003), -20);
}

/// The union of sets of random indices.
inline MirroredPairs union_of_sets(std::int32_t index_count, int set_count, int size,
                                   std::mt19937_64& random) {
  MirroredPairs pairs;
  for (int k = 0; k < set_count; ++k) {
    std::set<std::int32_t> members;
    while (members.size() < static_cast<std::size_t>(size))
      members.insert(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(index_count)));
    for (const auto a : members) {
      for (const auto b : members) {
        if (a <= b) pairs[{a, b}] = positive_value(random);
      }
    }
  }
  return pairs;
}

/// Each pair as the entry (a, b) or (b, a), half of an entry on the diagonal.
struct HalfBlock {
  std::int64_t row_count;
  std::int64_t column_count;
  std::int64_t column_of_row_0;

  [[nodiscard]] kernels::CsrBlock store(const MirroredPairs& pairs, std::mt19937_64& random) const {
    std::vector<std::vector<kernels::CsrBlock::Entry>> rows(static_cast<std::size_t>(row_count));
    for (const auto& [pair, value] : pairs) {
      const auto [a, b] = random() % 2 == 0 ? pair : std::pair(pair.second, pair.first);
      // An index is a column; rows begin at the index column_of_row_0. What is not in the block belongs to others.
      const auto row = a - column_of_row_0;
      if (row < 0 || row >= row_count || b >= column_count) continue;
      rows[static_cast<std::size_t>(row)].push_back({.column = b, .value = a == b ? value / 2 : value});
    }
    for (auto& row : rows) std::ranges::sort(row, {}, &kernels::CsrBlock::Entry::column);
    return kernels::CsrBlock::from_rows(column_count, rows);
  }
};

}  // namespace cg2d::test
