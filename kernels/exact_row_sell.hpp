#pragma once

// The loops of the reproducible form of the kernel "sell-rows".

#include "kernels/row_sell_kernel.hpp"

namespace cg2d::kernels {

/// The loop for an instruction set of the kernel.
RowSellLoop exact_row_sell_loop(InstructionSet set);

}  // namespace cg2d::kernels
