#pragma once

// Kernels on plain CSR: the block, its split over threads, and the call of a loop over rows.

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "kernels/cpu_features.hpp"
#include "kernels/format_kernel.hpp"

namespace cg2d::kernels {

/// The operands of a loop over rows, which sets q[row] for the rows [first_row, last_row), or adds to it.
struct CsrRowOperands {
  int64_t first_row;
  int64_t last_row;
  const double* p;
  double* q;  // q of the whole block
  bool are_added;
  // Operands of loops with half storage only: p of the rows, and the sums over columns that are added to.
  const double* p_rows;
  double* q_columns;
  // Operands of reproducible loops only: see Operands and KernelOptions.
  double* q_low;
  double p_bound;
  const double* row_bounds;
};

using CsrRowLoop = std::function<void(const CsrBlock& block, const CsrRowOperands& operands)>;

/// A kernel that runs one row loop on every thread.
class CsrRowsKernel final : public FormatKernel<SplitRows<CsrBlock>> {
 public:
  CsrRowsKernel(std::string_view name, CsrRowLoop loop, CsrBlock block, const KernelOptions& options,
                Storage storage = Storage::whole)
      : FormatKernel(name, options, {std::move(block), options.thread_count}),
        loop_(std::move(loop)),
        stores_half_(storage == Storage::half),
        column_sums_(stores_half_ ? format().matrix.column_count : 0, thread_count()) {
    place_near_threads(format().matrix, format().borders);
  }

  /// A share is a share of every thread's rows; with half storage the last one adds up the threads' column sums.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    if (!stores_half_) {
      on_each_thread([&](int thread) { multiply_rows(thread, operands, mode, nullptr); });
      return;
    }
    column_sums_.make(operands.q_columns,
                      {.begin = 0, .end = mode.is_last_share() ? format().matrix.column_count : 0},
                      [&](int thread, std::span<double> sums) {
                        // The first thread's sums are those of the result itself.
                        const bool is_continued = mode.is_continued && thread == 0;
                        if (mode.share == 0 && !is_continued) std::ranges::fill(sums, 0.0);
                        multiply_rows(thread, operands, mode, sums.data());
                      });
  }

 private:
  void multiply_rows(int thread, const Operands& operands, const ProductMode& mode, double* q_columns) const {
    const auto rows = format().rows_of(thread, mode);
    loop_(format().matrix, {.first_row = rows.begin,
                            .last_row = rows.end,
                            .p = operands.p_columns.data(),
                            .q = operands.q_rows.data(),
                            .are_added = mode.is_added,
                            .p_rows = operands.p_rows.data(),
                            .q_columns = q_columns,
                            .q_low = operands.q_rows_low.data(),
                            .p_bound = operands.p_bound,
                            .row_bounds = row_bounds().data()});
  }

  CsrRowLoop loop_;
  bool stores_half_;
  ColumnSums column_sums_;
};

// Plain CSR, for the kernel of that name, which must stay alive.

/// Reproducible sums, by the loop for a set that has no gathers.
std::unique_ptr<SpmvKernel> make_exact_csr(std::string_view name, CsrBlock block,
                                           const KernelOptions& options);
/// Several vectors.
std::unique_ptr<SpmvKernel> make_several_rows(std::string_view name, CsrBlock block,
                                              const KernelOptions& options);
/// Several vectors, in column blocks (several_sell_form()), or plain CSR where a row has few entries in a column block.
std::unique_ptr<SpmvKernel> make_several_blocks(std::string_view name, CsrBlock block,
                                                const KernelOptions& options);

// ---------------------------------------------------------------- loops over rows in registers (spmv_csr.cpp)

/// Rows whose entries lie one after the other; lengths[row] is the number of entries of a row.
template <typename Lengths, typename Column>
struct CsrRows {
  Lengths lengths;
  const Column* columns;
  const double* values;
  int64_t row_count;
  bool are_added;  // adds the products to q instead of overwriting it
};

/// The lengths of rows, from the positions at which they start.
struct RowLengths {
  const int64_t* starts;
  int64_t operator[](int64_t row) const { return starts[row + 1] - starts[row]; }
};

using RowsOfCsrSimd = CsrRows<RowLengths, int32_t>;
using RowsOfCsrShort = CsrRows<const uint32_t*, uint16_t>;

struct CsrLoopConfig {
  int64_t critical_vector_length;  // shorter rows take the scalar loop
  int64_t prefetch_distance;       // in entries
};

/// p: the element of column 0; q: one element per row.
template <typename Rows>
using CsrRowsLoop = void (*)(const Rows& rows, const CsrLoopConfig& settings, const double* p, double* q);

/// The settings that were asked for, else the defaults, which have both.
inline CsrLoopConfig csr_loop_config(const Tuning& tuning, const Tuning& defaults) {
  return {.critical_vector_length = tuning.critical_vector_length.value_or(*defaults.critical_vector_length),
          .prefetch_distance = tuning.prefetch_distance.value_or(*defaults.prefetch_distance)};
}

}  // namespace cg2d::kernels
