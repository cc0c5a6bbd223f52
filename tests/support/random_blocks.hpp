#pragma once

// Blocks of every awkward shape, for the contracts of the kernels, and large ones.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/csr_block.hpp"

namespace cg2d::test {

using Rows = kernels::CsrBlock::Rows;

struct TestBlock {
  int64_t column_count = 0;
  Rows rows;
  std::vector<double> operand;  // one number per column

  kernels::CsrBlock csr() const { return kernels::CsrBlock::from_rows(column_count, rows); }
};

/// Random blocks, reproducible: number k is the same block in every test.
class BlockMaker {
 public:
  explicit BlockMaker(int number) : random_(static_cast<uint64_t>(number) + 7), shape_(number % 8) {}

  TestBlock make() {
    TestBlock block;
    block.column_count = shape_ == 0 ? 1 : 1 + below(300);
    const int64_t row_count = shape_ == 1 ? 0 : 1 + below(30);
    const int64_t dense_row = shape_ == 2 ? below(row_count) : -1;
    for (int64_t row = 0; row < row_count; ++row) {
      block.rows.push_back(make_row(block.column_count, row == dense_row ? block.column_count : length()));
    }
    for (int64_t k = 0; k < block.column_count; ++k) block.operand.push_back(value());
    return block;
  }

 private:
  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  /// Signs and magnitudes mixed, so that the order of the additions shows.
  double value() {
    const double mantissa = 1.0 + static_cast<double>(random_() >> 12) * 0x1p-52;
    return std::ldexp(random_() % 2 == 0 ? mantissa : -mantissa, static_cast<int>(below(40)) - 20);
  }

  int64_t length() {
    switch (shape_) {
      case 3:
        return 0;  // all rows empty
      case 4:
        return below(4) == 0 ? 1 + below(65) : 0;  // most rows empty
      case 5:
        return 1 + below(9);  // around the width of vector registers
      default:
        return below(66);
    }
  }

  /// `length` columns, or all of them if there are no more.
  std::vector<kernels::CsrBlock::Entry> make_row(int64_t column_count, int64_t length) {
    std::vector<kernels::CsrBlock::Entry> row;
    int64_t wanted = std::min(length, column_count);
    for (int64_t column = 0; column < column_count; ++column) {
      if (below(column_count - column) >= wanted) continue;
      row.push_back({.column = static_cast<int32_t>(column), .value = value()});
      --wanted;
    }
    return row;
  }

  std::mt19937_64 random_;
  int shape_;
};

/// Rows of the same number of entries, evenly over the columns, whose number is a multiple of it. Made without
/// other memory of its size.
inline kernels::CsrBlock even_csr_block(int64_t row_count, int64_t column_count, int64_t row_length) {
  const auto column_step = column_count / row_length;
  const auto nonzero_count = static_cast<size_t>(row_count * row_length);
  kernels::CsrBlock block{.row_count = row_count,
                          .column_count = column_count,
                          .row_starts = kernels::PageBuffer<int64_t>(static_cast<size_t>(row_count) + 1),
                          .columns = kernels::PageBuffer<int32_t>(nonzero_count),
                          .values = kernels::PageBuffer<double>(nonzero_count)};
  size_t entry = 0;
  for (int64_t row = 0; row < row_count; ++row) {
    for (int64_t k = 0; k < row_length; ++k, ++entry) {
      block.columns[entry] = static_cast<int32_t>(k * column_step + (row * 31 + k * 17) % column_step);
      block.values[entry] = static_cast<double>(1 + entry % 9);
    }
    block.row_starts[static_cast<size_t>(row) + 1] = static_cast<int64_t>(entry);
  }
  return block;
}

/// Several column blocks and windows of rows of the formats that have such, the last ones not full; rows are
/// dense at the borders of the blocks.
inline TestBlock large_block() {
  constexpr int64_t column_count = 70'000;
  constexpr int64_t row_count = 1301;
  TestBlock block{.column_count = column_count, .rows = Rows(row_count), .operand = {}};
  for (int64_t r = 0; r < row_count; ++r) {
    auto& entries = block.rows[static_cast<size_t>(r)];
    for (int64_t c = r % 97; c < column_count; c += 1 + (c % 2048 < 2040 ? 701 + r : 0)) {
      entries.push_back(
          {.column = static_cast<int32_t>(c), .value = 1.0 / static_cast<double>(1 + (c + r) % 13)});
    }
  }
  for (int64_t c = 0; c < column_count; ++c) block.operand.push_back(static_cast<double>(c % 31) - 15.0);
  return block;
}

}  // namespace cg2d::test
