// Loops that multiply CSR rows by a vector, for columns of 16 and of 32 bits. Rows from the critical vector length on take a loop with
// several sums. Shorter rows take a scalar loop, since setting up and summing up vector registers costs more than a few scalar products.
// (On the CP-PACS the paper's first compiler switched at 50 entries, and the best grid depended on it.)
// Included once for each processor that a source is compiled for: see vector_targets.hpp.

#if defined(CG2D_KERNELS_CSR_ROW_LOOPS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CG2D_KERNELS_CSR_ROW_LOOPS_INL_HPP
#undef CG2D_KERNELS_CSR_ROW_LOOPS_INL_HPP
#else
#define CG2D_KERNELS_CSR_ROW_LOOPS_INL_HPP
#endif

#include <type_traits>

#include "kernels/csr_rows_kernel.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {

template <typename Column>
HWY_INLINE double short_row(const double* values, const Column* columns, int64_t length, const double* p) {
  double sum = 0.0;
  for (int64_t k = 0; k < length; ++k) sum += values[k] * p[columns[k]];
  return sum;
}

/// As many lanes as gathers fill; without gathers two, which took less time than four in rows.
template <typename Elements>
using RowLanes =
    std::conditional_t<Elements::are_gathered, hn::ScalableTag<double>, hn::CappedTag<double, 2>>;

/// Two sums, or four where a register has two lanes at most, so that an addition does not wait for the one before it.
template <typename Elements, typename Column>
HWY_INLINE double long_row(const double* values, const Column* columns, int64_t length, const double* p,
                           int64_t distance) {
  const RowLanes<Elements> d;
  constexpr bool has_four_sums = !Elements::are_gathered;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  [[maybe_unused]] auto sum2 = hn::Zero(d);
  [[maybe_unused]] auto sum3 = hn::Zero(d);
  const auto add = [&](int64_t first, VectorOf<decltype(d)>& sum) HWY_ATTR {
    sum = hn::MulAdd(hn::LoadU(d, values + first), Elements::load(d, p, columns + first), sum);
  };
  int64_t k = 0;
  const int64_t step = (has_four_sums ? 4 : 2) * lanes;
  for (; k + step <= length; k += step) {
    prefetch_entries(values + k, columns + k, distance);
    add(k, sum0);
    add(k + lanes, sum1);
    if constexpr (has_four_sums) {
      add(k + 2 * lanes, sum2);
      add(k + 3 * lanes, sum3);
    }
  }
  for (; k + lanes <= length; k += lanes) add(k, sum0);
  double rest = 0.0;
  if constexpr (Elements::has_masks) {
    if (k < length) {
      const auto count = static_cast<size_t>(length - k);
      sum0 = hn::MulAdd(hn::MaskedLoad(hn::FirstN(d, count), d, values + k),
                        Elements::load_first(d, count, p, columns + k), sum0);
    }
  } else {
    rest = short_row(values + k, columns + k, length - k, p);
  }
  auto sum = hn::Add(sum0, sum1);
  if constexpr (has_four_sums) sum = hn::Add(sum, hn::Add(sum2, sum3));
  return sum_of_lanes(d, sum) + rest;
}

template <typename Elements, typename Lengths, typename Column>
void multiply_rows(const CsrRows<Lengths, Column>& rows, const CsrLoopConfig& settings, const double* p,
                   double* q) {
  const double* values = rows.values;
  const Column* columns = rows.columns;
  for (int64_t row = 0; row < rows.row_count; ++row) {
    const int64_t length = rows.lengths[row];
    const double sum = length < settings.critical_vector_length
                           ? short_row(values, columns, length, p)
                           : long_row<Elements>(values, columns, length, p, settings.prefetch_distance);
    q[row] = rows.are_added ? q[row] + sum : sum;
    values += length;
    columns += length;
  }
}

template <typename Lengths, typename Column>
CsrRowsLoop<Lengths, Column> csr_loop_for(InstructionSet set) {
  return with_elements_of(
      set, []<typename Elements>(Elements) { return &multiply_rows<Elements, Lengths, Column>; });
}

}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
