// Plain CSR for several vectors: the sums of a row are in registers, and each entry takes one contiguous load of
// as many elements as there are vectors.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/several_csr.cpp"
#include <hwy/foreach_target.h>

#include "kernels/csr_rows_kernel.hpp"
#include "kernels/several_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace several_csr {

constexpr int64_t prefetch_distance = 256;

struct CsrLoop {
  using Operands = std::pair<const CsrBlock&, const CsrRowOperands&>;

  template <typename Row>
  static HWY_INLINE void run(const Operands& operands) {
    const auto& [block, rows] = operands;
    const int64_t* starts = block.row_starts.data();
    const int32_t* columns = block.columns.data();
    const double* values = block.values.data();
    for (int64_t row = rows.first_row; row < rows.last_row; ++row) {
      double* const q = rows.q + row * Row::size;
      Row sums{};
      if (rows.are_added) {
        sums.load(q);
      } else {
        sums.clear();
      }
      for (int64_t k = starts[row]; k < starts[row + 1]; ++k) {
        prefetch_entries(values + k, columns + k, prefetch_distance);
        Row elements{};
        elements.load(rows.p + columns[k] * Row::size);
        sums.add_scaled(values[k], elements);
      }
      sums.store(q);
    }
  }
};

using Loops = several::LoopsByCount<CsrLoop::Operands>;
Loops loops_for(InstructionSet set) { return several_loops_for<CsrLoop>(set); }

}  // namespace several_csr
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <utility>

namespace cg2d::kernels {

std::unique_ptr<SpmvKernel> make_several_rows(std::string_view name, CsrBlock block,
                                              const KernelOptions& options) {
  const auto set = several::chosen_set(options);
  const auto loop = several::loop_for(CG2D_OF_SET(set, several_csr::loops_for), options.vector_count);
  const auto multiply_rows = [=](const CsrBlock& rows_block, const CsrRowOperands& operands) {
    loop({rows_block, operands});
  };
  return std::make_unique<CsrRowsKernel>(name, name_of(set), multiply_rows, std::move(block),
                                         options.thread_count);
}

std::unique_ptr<SpmvKernel> make_several_csr(CsrBlock block, const KernelOptions& options) {
  return make_several_rows("csr-simd", std::move(block), options);
}

}  // namespace cg2d::kernels
#endif
