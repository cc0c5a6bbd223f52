#pragma once

// The loops of the kernel "sell-rows", in its usual and its reproducible form: one for each instruction set (row_sell_loops-inl.hpp).

#include <cstdint>

#include "kernels/cpu_features.hpp"
#include "kernels/row_sell.hpp"

namespace cg2d::kernels {

/// Some windows of a part, to be multiplied.
struct RowSellWindows {
  const RowSellPart& part;
  int64_t first_window;
  int64_t last_window;
  int64_t prefetch_distance;
  bool are_added;
};

/// The vectors of a loop, which are those of the whole block.
struct RowSellVectors {
  const double* p;
  double* q;  // the part's rows are set, or added to
  // Operands of reproducible sums only: see Operands and KernelOptions.
  double* q_low;
  const double* row_bounds;
  double p_bound;
  double low_factor;  // SplitConstants::low_factor()
};

using RowSellLoop = void (*)(const RowSellWindows& range, const RowSellVectors& vectors);

/// The loops of the reproducible form, for an instruction set of the kernel.
RowSellLoop exact_row_sell_loop(InstructionSet set);

}  // namespace cg2d::kernels
