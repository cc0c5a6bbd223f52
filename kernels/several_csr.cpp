// Plain CSR for several vectors: the sums of a row are in registers, and each entry takes one contiguous load of
// as many elements as there are vectors.

#include <utility>

#include "kernels/csr_rows_kernel.hpp"
#include "kernels/several_vectors.hpp"

namespace cg2d::kernels {
namespace {
namespace several_csr {

constexpr std::int64_t prefetch_distance = 256;

struct CsrLoop {
  struct Operands {
    const CsrBlock& block;
    const CsrRowOperands& rows;
  };

  template <typename Row>
  static inline __attribute__((always_inline)) void run(const Operands& operands) {
    const auto& rows = operands.rows;
    const std::int64_t* starts = operands.block.row_starts.data();
    const std::int32_t* columns = operands.block.columns.data();
    const double* values = operands.block.values.data();
    for (std::int64_t row = rows.first_row; row < rows.last_row; ++row) {
      double* const q = rows.q + row * Row::size;
      Row sums{};
      if (rows.are_added) {
        sums.load(q);
      } else {
        sums.clear();
      }
      for (std::int64_t k = starts[row]; k < starts[row + 1]; ++k) {
        prefetch_entries(values + k, columns + k, prefetch_distance);
        Row elements{};
        elements.load(rows.p + columns[k] * Row::size);
        sums.add_scaled(values[k], elements);
      }
      sums.store(q);
    }
  }
};

}  // namespace several_csr
}  // namespace

std::unique_ptr<SpmvKernel> make_several_rows(std::string_view name, CsrBlock block,
                                              const KernelOptions& options) {
  const auto set = several::chosen_set(options);
  const auto loop = several::loop_for<several_csr::CsrLoop>(set, options.vector_count);
  const auto multiply_rows = [=](const CsrBlock& rows_block, const CsrRowOperands& operands) {
    loop({.block = rows_block, .rows = operands});
  };
  return std::make_unique<CsrRowsKernel>(name, name_of(set), multiply_rows, std::move(block),
                                         options.thread_count);
}

std::unique_ptr<SpmvKernel> make_several_csr(CsrBlock block, const KernelOptions& options) {
  return make_several_rows("csr-simd", std::move(block), options);
}

}  // namespace cg2d::kernels
