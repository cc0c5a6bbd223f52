#pragma once

// The reproducible form of the kernels on plain CSR.

#include <memory>

#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// KernelRow::make_reproducible, with the plainest loop.
std::unique_ptr<SpmvKernel> make_exact_csr_scalar(CsrBlock block, const KernelOptions& options);
/// KernelRow::make_reproducible, with the loop in vector registers where this processor has them.
std::unique_ptr<SpmvKernel> make_exact_csr(CsrBlock block, const KernelOptions& options);

}  // namespace cg2d::kernels
