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

constexpr std::int64_t prefetch_distance = 256;  // in entries

/// A row's entries, and the constants for its sum.
struct Row {
  const double* values;
  const std::int32_t* columns;
  std::int64_t length;
  SplitConstants constants;
};

using RowSum = ExactSum (*)(const Row& row, const double* p);

inline __attribute__((always_inline)) void add_term(const SplitConstants& constants, double term,
                                                    ExactSum& sum) {
  const double first = (constants.high + term) - constants.high;
  sum.high += first;
  sum.low += (constants.low + (term - first)) - constants.low;
}

ExactSum sum_portable(const Row& row, const double* p) {
  ExactSum even;
  ExactSum odd;
  std::int64_t k = 0;
  for (; k + 2 <= row.length; k += 2) {
    add_term(row.constants, row.values[k] * p[row.columns[k]], even);
    add_term(row.constants, row.values[k + 1] * p[row.columns[k + 1]], odd);
  }
  if (k < row.length) add_term(row.constants, row.values[k] * p[row.columns[k]], even);
  return {.high = even.high + odd.high, .low = even.low + odd.low};
}

#if defined(__x86_64__)
struct FourSums {
  __m256d high;
  __m256d low;
};

CG2D_FMA inline __attribute__((always_inline)) void add_four(const double* values,
                                                             const std::int32_t* columns, const double* p,
                                                             __m256d high, __m256d low, FourSums& sums) {
  const auto column = [&](int k) { return static_cast<std::size_t>(columns[k]); };
  const __m256d operands = _mm256_set_m128d(two_of(p, column(2), column(3)), two_of(p, column(0), column(1)));
  const __m256d term = _mm256_mul_pd(_mm256_loadu_pd(values), operands);
  const __m256d first = _mm256_sub_pd(_mm256_add_pd(high, term), high);
  sums.high = _mm256_add_pd(sums.high, first);
  const __m256d rest = _mm256_sub_pd(term, first);
  sums.low = _mm256_add_pd(sums.low, _mm256_sub_pd(_mm256_add_pd(low, rest), low));
}

CG2D_FMA inline __attribute__((always_inline)) double sum_of_lanes(__m256d sums) {
  double lanes[4];
  _mm256_storeu_pd(lanes, sums);
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

CG2D_FMA ExactSum sum_fma(const Row& row, const double* p) {
  const __m256d high = _mm256_set1_pd(row.constants.high);
  const __m256d low = _mm256_set1_pd(row.constants.low);
  FourSums even{.high = _mm256_setzero_pd(), .low = _mm256_setzero_pd()};
  FourSums odd = even;
  std::int64_t k = 0;
  for (; k + 8 <= row.length; k += 8) {
    prefetch_entries(row.values + k, row.columns + k, prefetch_distance);
    add_four(row.values + k, row.columns + k, p, high, low, even);
    add_four(row.values + k + 4, row.columns + k + 4, p, high, low, odd);
  }
  ExactSum sum{.high = sum_of_lanes(_mm256_add_pd(even.high, odd.high)),
               .low = sum_of_lanes(_mm256_add_pd(even.low, odd.low))};
  for (; k < row.length; ++k) add_term(row.constants, row.values[k] * p[row.columns[k]], sum);
  return sum;
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
