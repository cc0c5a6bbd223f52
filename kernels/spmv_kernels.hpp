#pragma once

// The rows of the kernel table, each defined in the kernel's own file.

#include "kernels/spmv.hpp"

namespace cg2d::kernels {

KernelRow scalar_kernel();
KernelRow csr_simd_kernel();
KernelRow csr_short_kernel();
KernelRow sell_kernel();

}  // namespace cg2d::kernels
