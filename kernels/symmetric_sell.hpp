#pragma once

// Arguments of the loops of half storage in SELL (spmv_symmetric.cpp).

#include <cstdint>

#include "kernels/sell_matrix.hpp"

namespace cg2d::kernels::symmetric_sell {

constexpr int64_t lanes = 8;

// In entries: fetches 8 kB of values and 2 kB of columns before their use.
constexpr int default_prefetch_distance = 1024;

/// An element of p over the columns, and the sum for the same element of q.
struct alignas(2 * sizeof(double)) ColumnPair {
  double p;
  double q;
};

/// The vectors of one thread. p and q are those of the whole block; `pairs` holds one column block at a time
/// with its spare columns, `row_sums` one window with its spare position.
struct PartOperands {
  const double* p_columns;
  const double* p_rows;
  double* q_rows;
  double* q_columns;
  ColumnPair* pairs;
  double* row_sums;
  int64_t column_count;
  bool is_continued;  // q_columns already has sums of other rows
};

/// Some column blocks of a part, to be multiplied.
struct PartBlocks {
  const SellPart& part;
  int64_t first_block;
  int64_t last_block;
  int64_t prefetch_distance;
};

/// Adds to q_rows, and overwrites q_columns within the column blocks, or adds to it.
using PartLoop = void (*)(const PartBlocks& range, const PartOperands& operands);

}  // namespace cg2d::kernels::symmetric_sell
