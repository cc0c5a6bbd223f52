#pragma once

// The product of a block with several vectors at once: each entry of the matrix is read once for all of them. The
// vectors lie row by row: the elements of one row, one of each vector, are neighbours in memory.

#include <cstdint>
#include <memory>
#include <string_view>

#include "kernels/sell_kernel.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

// Kernels for KernelOptions::vector_count vectors, for the kernel of that name, which must stay alive.

/// Column blocks, or plain CSR where a row has few entries in a column block.
std::unique_ptr<SpmvKernel> make_several_blocks(std::string_view name, CsrBlock block,
                                                const KernelOptions& options);

// SELL-4-1024 in column blocks (sell_matrix.hpp).
inline constexpr int64_t several_sell_lanes = 4;
inline constexpr int64_t several_sell_window_rows = 1024;
SellForm several_sell_form(std::string_view name, Storage storage, const KernelOptions& options);

/// Plain CSR.
std::unique_ptr<SpmvKernel> make_several_rows(std::string_view name, CsrBlock block,
                                              const KernelOptions& options);

}  // namespace cg2d::kernels
