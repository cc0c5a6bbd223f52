#pragma once

// SELL-4-1024 in column blocks for several vectors (sell_matrix.hpp): the operands of its loops, which are in several_sell.cpp.

#include <cstdint>

#include "kernels/sell_matrix.hpp"

namespace cg2d::kernels {

inline constexpr int64_t several_sell_lanes = 4;
inline constexpr int64_t several_sell_window_rows = 1024;

/// Some column blocks of a part, and the vectors of the whole block.
struct SeveralSellOperands {
  const SellPart& part;
  int64_t first_block = 0;
  int64_t last_block = 0;
  const double* p_columns = nullptr;
  const double* p_rows = nullptr;  // with half storage, as q_columns
  double* q_rows = nullptr;
  double* q_columns = nullptr;
};

}  // namespace cg2d::kernels
