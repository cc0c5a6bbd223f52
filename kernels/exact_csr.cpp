// Products with a block in plain CSR whose sums do not depend on order (exact_sums.hpp): seven operations for an entry instead of
// two, on the same bytes.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/exact_csr.cpp"
#include <hwy/foreach_target.h>

#include "kernels/csr_rows_kernel.hpp"
#include "kernels/exact_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace exact_csr {

constexpr int64_t prefetch_distance = 256;  // in entries

/// A row's entries, and the constants for its sum.
struct Row {
  const double* values = nullptr;
  const int32_t* columns = nullptr;
  int64_t length = 0;
  SplitConstants constants;
};

template <typename Elements>
HWY_INLINE ExactSum sum_of_row(const Row& row, const double* p) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto begin = hn::Set(d, row.constants.high);
  const auto low_constants = hn::Set(d, row.constants.low);
  auto high0 = begin;
  auto high1 = begin;
  auto low0 = hn::Zero(d);
  auto low1 = hn::Zero(d);
  const auto terms = [&](int64_t k) HWY_ATTR {
    return hn::Mul(hn::LoadU(d, row.values + k), Elements::load(d, p, row.columns + k));
  };
  int64_t k = 0;
  for (; k + 2 * lanes <= row.length; k += 2 * lanes) {
    prefetch_entries(row.values + k, row.columns + k, prefetch_distance);
    add_terms(low_constants, terms(k), high0, low0);
    add_terms(low_constants, terms(k + lanes), high1, low1);
  }
  RunningSums<double> rest{.high = row.constants.high, .low = 0.0};
  for (; k < row.length; ++k) add_term(row.constants.low, row.values[k] * p[row.columns[k]], rest);
  return {.high = sum_of_lanes(d, hn::Add(hn::Sub(high0, begin), hn::Sub(high1, begin))) +
                  (rest.high - row.constants.high),
          .low = sum_of_lanes(d, hn::Add(low0, low1)) + rest.low};
}

template <typename Elements>
void multiply_rows(double most_terms, const CsrBlock& block, const CsrRowOperands& operands) {
  const int64_t* starts = block.row_starts.data();
  for (auto row = operands.first_row; row < operands.last_row; ++row) {
    const auto sum = sum_of_row<Elements>(
        {.values = block.values.data() + starts[row],
         .columns = block.columns.data() + starts[row],
         .length = starts[row + 1] - starts[row],
         .constants = SplitConstants(operands.row_bounds[row] * operands.p_bound, most_terms)},
        operands.p);
    operands.q[row] = operands.are_added ? operands.q[row] + sum.high : sum.high;
    operands.q_low[row] = operands.are_added ? operands.q_low[row] + sum.low : sum.low;
  }
}

using Loop = void (*)(double most_terms, const CsrBlock& block, const CsrRowOperands& operands);

Loop loop_for(InstructionSet set) {
  return with_elements_of(set, []<typename Elements>(Elements) -> Loop { return &multiply_rows<Elements>; });
}

}  // namespace exact_csr
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>
#include <string_view>
#include <utility>

#include "kernels/parts_kernel.hpp"

namespace cg2d::kernels {
namespace {
namespace exact_csr {

std::unique_ptr<SpmvKernel> make(std::string_view name, InstructionSet set, CsrBlock block,
                                 const KernelOptions& options) {
  const auto row_bounds = row_bounds_for(block, options);
  const auto loop = [multiply = CG2D_OF_SET(set, exact_csr::loop_for), most_terms = options.most_terms](
                        const CsrBlock& rows_block, const CsrRowOperands& operands) {
    multiply(most_terms, rows_block, operands);
  };
  return std::make_unique<CsrRowsKernel>(name, name_of(set), loop, std::move(block), options.thread_count,
                                         row_bounds);
}

}  // namespace exact_csr
}  // namespace

std::unique_ptr<SpmvKernel> make_exact_csr_scalar(CsrBlock block, const KernelOptions& options) {
  return exact_csr::make("scalar", InstructionSet::portable, std::move(block), options);
}

std::unique_ptr<SpmvKernel> make_exact_csr(CsrBlock block, const KernelOptions& options) {
  constexpr std::array sets{InstructionSet::portable, InstructionSet::fma, InstructionSet::sve};
  const auto set = options.instruction_set == InstructionSet::portable ? InstructionSet::portable
                                                                       : of_this_processor(sets).back();
  return exact_csr::make("csr-simd", set, std::move(block), options);
}

}  // namespace cg2d::kernels
#endif
