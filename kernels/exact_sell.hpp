#pragma once

// The loops of the reproducible form of the kernel "sell".

#include "kernels/sell_kernel.hpp"

namespace cg2d::kernels {

/// The loop for an instruction set of the kernel.
SellLoop exact_sell_loop(InstructionSet set);

}  // namespace cg2d::kernels
