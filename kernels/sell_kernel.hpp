#pragma once

// The kernels on SELL (sell_matrix.hpp), with whole and half storage, one vector and several: their loops, and what else tells them apart.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/sell_matrix.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

// In entries: fetches 8 kB of values and 2 kB of columns before their use.
inline constexpr int default_sell_prefetch_distance = 1024;

/// An element of p over the columns, and the sum for the same element of q.
struct alignas(2 * sizeof(double)) ColumnPair {
  double p;
  double q;
};

/// Some column blocks of a part, to be multiplied. The vectors are those of the whole block.
struct SellOperands {
  const SellPart& part;
  int64_t first_block;
  int64_t last_block;
  int64_t prefetch_distance;
  const double* p_columns;
  double* q_rows;  // sums are added to it
  // Reproducible sums only: their low parts, and SplitConstants::low over the greatest power of two in SplitConstants::high.
  double* q_rows_low;
  double low_share;
  // Half storage only. q_columns is overwritten within the column blocks; it is added to where it already has sums of other rows.
  const double* p_rows;
  double* q_columns;
  bool is_continued;
  // Shapes with positions only, room of the thread: one column block at a time with its spare columns, and one window with its spare position.
  ColumnPair* pairs;
  double* row_sums;
};

using SellLoop = void (*)(const SellOperands& operands);

/// The loop of the reproducible form of kernel "sell", for an instruction set of the kernel.
SellLoop exact_sell_loop(InstructionSet set);

/// A kernel on SELL. With half storage a row has at most one entry per column.
struct SellForm {
  std::string_view name;  ///< must stay alive
  Storage storage = Storage::whole;
  SellShape shape{};
  SellLoop loop = nullptr;
};

/// The form for several vectors: SELL-4-1024 in column blocks.
SellForm several_sell_form(std::string_view name, Storage storage, const KernelOptions& options);
inline constexpr int64_t several_sell_lanes = 4;
inline constexpr int64_t several_sell_window_rows = 1024;

/// The kernel of a form. bands: sell_parts() of its shape. With the options' most_terms, sums are reproducible. Throws std::bad_alloc.
std::unique_ptr<SpmvKernel> make_sell_kernel(const SellForm& form, std::vector<SellBands> bands,
                                             const KernelOptions& options);

/// KernelRow::maker and external_maker, by the form for the options.
template <SellForm (*FormFor)(const KernelOptions& options)>
std::unique_ptr<SpmvKernel> make_sell(CsrBlock block, const KernelOptions& options) {
  const auto form = FormFor(options);
  return make_sell_kernel(form, sell_parts(block, options.thread_count, form.shape), options);
}
template <SellForm (*FormFor)(const KernelOptions& options)>
std::unique_ptr<SpmvKernel> make_external_sell(const ExternalArrays& block, const KernelOptions& options) {
  const auto form = FormFor(options);
  return make_sell_kernel(form, external_sell_parts(block, form.shape), options);
}

}  // namespace cg2d::kernels
