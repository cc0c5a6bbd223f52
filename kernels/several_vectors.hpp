#pragma once

// The product of a block with several vectors at once: each entry of the matrix is read once for all of them. The
// vectors lie row by row: the elements of one row, one of each vector, are neighbours in memory.

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/sell_matrix.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

// Kernels for KernelOptions::vector_count vectors.

/// Column blocks, or plain CSR where a row has few entries in a column block.
std::unique_ptr<SpmvKernel> make_several_blocks(CsrBlock block, const KernelOptions& options);

/// Half storage in column blocks, and the same for arrays that are lent (KernelRow::make_external).
std::unique_ptr<SpmvKernel> make_several_symmetric(CsrBlock block, const KernelOptions& options);
std::unique_ptr<SpmvKernel> make_several_symmetric_external(const ExternalArrays& block,
                                                            const KernelOptions& options);

/// Plain CSR for the kernel of that name, which must stay alive.
std::unique_ptr<SpmvKernel> make_several_rows(std::string_view name, CsrBlock block,
                                              const KernelOptions& options);

namespace several {

/// A loop for one number of vectors (several_loops-inl.hpp).
template <typename Operands>
using LoopFunction = void (*)(const Operands&);
/// One for each of vector_counts.
template <typename Operands>
using LoopsByCount = std::array<LoopFunction<Operands>, vector_counts.size()>;

/// The place of 2, 4, 8 or 16 in vector_counts. Throws std::invalid_argument for another number.
inline size_t place_of_count(int vector_count) {
  for (size_t k = 0; k < vector_counts.size(); ++k) {
    if (vector_counts[k] == vector_count) return k;
  }
  throw std::invalid_argument("a kernel for several vectors takes 2, 4, 8 or 16 of them");
}

/// The set that is asked for, or the widest one: there are no gathers, and wider is never slower.
inline InstructionSet chosen_set(const KernelOptions& options) {
  return choose_instruction_set(options.instruction_set, sets_without_gathers);
}

// SELL-4-1024 in column blocks (sell_matrix.hpp)
inline constexpr int64_t lanes_of_sell = 4;
inline constexpr int64_t window_rows_of_sell = 1024;

/// Some column blocks of a part, and the vectors of the whole block.
struct SellOperands {
  const SellPart& part;
  int64_t first_block = 0;
  int64_t last_block = 0;
  const double* p_columns = nullptr;
  const double* p_rows = nullptr;  // with half storage, as q_columns
  double* q_rows = nullptr;
  double* q_columns = nullptr;
};

}  // namespace several
}  // namespace cg2d::kernels
