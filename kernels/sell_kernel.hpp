#pragma once

// The loops of the kernel "sell", in its usual and its reproducible form: one for each instruction set (sell_loops-inl.hpp).

#include <cstdint>

#include "kernels/cpu_features.hpp"
#include "kernels/sell_matrix.hpp"

namespace cg2d::kernels {

inline constexpr int64_t sell_lanes = 8;

/// Some column blocks of a part, to be multiplied.
struct SellBlocks {
  const SellPart& part;
  int64_t first_block;
  int64_t last_block;
  int64_t prefetch_distance;
};

/// The vectors of a loop, which are those of the whole block.
struct SellVectors {
  const double* p;
  double* q;      // sums are added to it
  double* q_low;  // low parts of reproducible sums
  // SplitConstants::low over the greatest power of two in SplitConstants::high; reproducible sums only.
  double low_share;
};

using SellLoop = void (*)(const SellBlocks& range, const SellVectors& vectors);

/// The loop of the reproducible form, for an instruction set of the kernel.
SellLoop exact_sell_loop(InstructionSet set);

}  // namespace cg2d::kernels
