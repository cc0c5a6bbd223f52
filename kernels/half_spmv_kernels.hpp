#pragma once

// The rows of the table of kernels on half-stored blocks, each defined in the kernel's own file.

#include "kernels/half_spmv.hpp"

namespace cg2d::kernels {

HalfKernelRow half_scalar_kernel();
HalfKernelRow half_sell_kernel();

}  // namespace cg2d::kernels
