// Products with a block in plain CSR whose sums do not depend on order (exact_sums.hpp): seven operations for an entry instead of
// two, on the same bytes.

#include "kernels/exact_csr.hpp"

#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "kernels/csr_rows_kernel.hpp"
#include "kernels/exact_sums.hpp"
#include "kernels/simd.hpp"

namespace cg2d::kernels {
namespace {
namespace exact_csr {

/// A row's entries, and the constants for its sum.
struct Row {
  const double* values;
  const std::int32_t* columns;
  std::int64_t length;
  SplitConstants constants;
};

using RowSum = ExactSum (*)(const Row& row, const double* p);

ExactSum sum_portable(const Row& row, const double* p) {
  RunningSums<double> even{.high = row.constants.high, .low = 0.0};
  auto odd = even;
  std::int64_t k = 0;
  for (; k + 2 <= row.length; k += 2) {
    add_term(row.constants.low, row.values[k] * p[row.columns[k]], even);
    add_term(row.constants.low, row.values[k + 1] * p[row.columns[k + 1]], odd);
  }
  if (k < row.length) add_term(row.constants.low, row.values[k] * p[row.columns[k]], even);
  return {.high = (even.high - row.constants.high) + (odd.high - row.constants.high),
          .low = even.low + odd.low};
}

#if defined(__x86_64__)
constexpr std::int64_t prefetch_distance = 256;  // in entries

CG2D_FMA CG2D_INLINE void add_four(const double* values, const std::int32_t* columns, const double* p,
                                   const FourLanes& low_constants, RunningSums<FourLanes>& sums) {
  const auto column = [&](int k) { return static_cast<std::size_t>(columns[k]); };
  const __m256d operands = _mm256_set_m128d(two_of(p, column(2), column(3)), two_of(p, column(0), column(1)));
  const FourLanes terms = _mm256_mul_pd(_mm256_loadu_pd(values), operands);
  add_term(low_constants, terms, sums);
}

CG2D_FMA CG2D_INLINE double sum_of_lanes(const FourLanes& sums) {
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

CG2D_FMA ExactSum sum_fma(const Row& row, const double* p) {
  const FourLanes high = _mm256_set1_pd(row.constants.high);
  const FourLanes low = _mm256_set1_pd(row.constants.low);
  RunningSums<FourLanes> even{.high = high, .low = _mm256_setzero_pd()};
  auto odd = even;
  std::int64_t k = 0;
  for (; k + 8 <= row.length; k += 8) {
    prefetch_entries(row.values + k, row.columns + k, prefetch_distance);
    add_four(row.values + k, row.columns + k, p, low, even);
    add_four(row.values + k + 4, row.columns + k + 4, p, low, odd);
  }
  RunningSums<double> rest{.high = row.constants.high, .low = 0.0};
  for (; k < row.length; ++k) add_term(row.constants.low, row.values[k] * p[row.columns[k]], rest);
  return {.high = sum_of_lanes((even.high - high) + (odd.high - high)) + (rest.high - row.constants.high),
          .low = sum_of_lanes(even.low + odd.low) + rest.low};
}
#endif

void multiply_rows(RowSum sum_of_row, double most_terms, const CsrBlock& block,
                   const CsrRowOperands& operands) {
  const std::int64_t* starts = block.row_starts.data();
  for (auto row = operands.first_row; row < operands.last_row; ++row) {
    const auto sum =
        sum_of_row({.values = block.values.data() + starts[row],
                    .columns = block.columns.data() + starts[row],
                    .length = starts[row + 1] - starts[row],
                    .constants = SplitConstants(operands.row_bounds[row] * operands.p_bound, most_terms)},
                   operands.p);
    operands.q[row] = operands.are_added ? operands.q[row] + sum.high : sum.high;
    operands.q_low[row] = operands.are_added ? operands.q_low[row] + sum.low : sum.low;
  }
}

std::unique_ptr<SpmvKernel> make(std::string_view name, InstructionSet set, RowSum sum_of_row, CsrBlock block,
                                 const KernelOptions& options) {
  if (std::ssize(options.row_bounds) != block.row_count)
    throw std::invalid_argument("as many row bounds as the block has rows");
  const auto loop = [sum_of_row, most_terms = options.most_terms](const CsrBlock& rows_block,
                                                                  const CsrRowOperands& operands) {
    multiply_rows(sum_of_row, most_terms, rows_block, operands);
  };
  return std::make_unique<CsrRowsKernel>(name, name_of(set), loop, std::move(block), options.thread_count,
                                         options.row_bounds);
}

}  // namespace exact_csr
}  // namespace

std::unique_ptr<SpmvKernel> make_exact_csr_scalar(CsrBlock block, const KernelOptions& options) {
  return exact_csr::make("scalar", InstructionSet::portable, &exact_csr::sum_portable, std::move(block),
                         options);
}

std::unique_ptr<SpmvKernel> make_exact_csr(CsrBlock block, const KernelOptions& options) {
  auto set = InstructionSet::portable;
  exact_csr::RowSum sum = &exact_csr::sum_portable;
#if defined(__x86_64__)
  constexpr std::array sets{InstructionSet::portable, InstructionSet::fma};
  if (options.instruction_set != InstructionSet::portable) set = of_this_processor(sets).back();
  if (set == InstructionSet::fma) sum = &exact_csr::sum_fma;
#endif
  return exact_csr::make("csr-simd", set, sum, std::move(block), options);
}

}  // namespace cg2d::kernels
