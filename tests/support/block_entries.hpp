#pragma once

// The entries of a block, whichever way it was made: as a whole, or strip by strip.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/csr_block.hpp"
#include "support/bits.hpp"

namespace cg2d::test {

struct BlockEntries {
  std::vector<int64_t> row_lengths;
  std::vector<int32_t> columns;
  std::vector<double> values;

  void append(const kernels::CsrBlock& block) {
    EXPECT_TRUE(block.row_starts.empty() || block.row_starts[0] == 0);
    for (int64_t row = 0; row < block.row_count; ++row)
      row_lengths.push_back(std::ssize(block.columns_of(row)));
    columns.insert(columns.end(), block.columns.span().begin(), block.columns.span().end());
    values.insert(values.end(), block.values.span().begin(), block.values.span().end());
  }
  friend bool operator==(const BlockEntries& left, const BlockEntries& right) {
    return left.row_lengths == right.row_lengths && left.columns == right.columns &&
           same_bits(left.values, right.values);
  }
};

inline BlockEntries entries_of(const kernels::CsrBlock& block) {
  BlockEntries entries;
  entries.append(block);
  return entries;
}

}  // namespace cg2d::test
