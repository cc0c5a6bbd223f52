// Products with a block in plain CSR whose sums do not depend on order (exact_sums.hpp): seven operations for an entry instead of
// two, on the same bytes.

#include "kernels/exact_csr.hpp"

#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/exact_sums.hpp"
#include "kernels/parallel_parts.hpp"
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

class Kernel final : public SpmvKernel {
 public:
  Kernel(std::string_view name, InstructionSet set, RowSum sum_of_row, CsrBlock block,
         const KernelOptions& options)
      : name_(name),
        set_(set),
        sum_of_row_(sum_of_row),
        block_(std::move(block)),
        borders_(split_rows_by_nonzeros(block_.row_starts.span(), options.thread_count)),
        row_bounds_(options.row_bounds.begin(), options.row_bounds.end()),
        most_terms_(options.most_terms) {
    if (std::ssize(row_bounds_) != block_.row_count)
      throw std::invalid_argument("as many row bounds as the block has rows");
    place_near_threads(block_, borders_);
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(set_); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override {
    return block_.byte_count() + static_cast<std::int64_t>(row_bounds_.size() * sizeof(double));
  }

  [[nodiscard]] std::vector<StoredArray> stored_arrays() override {
    auto arrays = block_.stored_arrays();
    arrays.push_back(stored_array(ArrayKind::structure, std::span(row_bounds_)));
    return arrays;
  }
  [[nodiscard]] bool has_columns_in_range() const override {
    return all_parts_hold(static_cast<int>(borders_.size()) - 1, [this](std::size_t part) {
      return block_.has_columns_in_range(borders_[part], borders_[part + 1]);
    });
  }

  /// A share is a share of every thread's rows.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    const int thread_count = static_cast<int>(borders_.size()) - 1;
#pragma omp parallel for num_threads(thread_count) schedule(static, 1) if (thread_count > 1)
    for (int part = 0; part < thread_count; ++part) {
      const auto index = static_cast<std::size_t>(part);
      const ShareRange rows(borders_[index + 1] - borders_[index], mode);
      multiply_rows(operands, borders_[index] + rows.begin, borders_[index] + rows.end, mode.is_added);
    }
  }

 private:
  void multiply_rows(const Operands& operands, std::int64_t begin, std::int64_t end, bool is_added) const {
    const std::int64_t* starts = block_.row_starts.data();
    double* const q_high = operands.q_rows.data();
    double* const q_low = operands.q_rows_low.data();
    for (auto row = begin; row < end; ++row) {
      const double bound = row_bounds_[static_cast<std::size_t>(row)] * operands.p_bound;
      const auto sum = sum_of_row_({.values = block_.values.data() + starts[row],
                                    .columns = block_.columns.data() + starts[row],
                                    .length = starts[row + 1] - starts[row],
                                    .constants = SplitConstants(bound, most_terms_)},
                                   operands.p_columns.data());
      q_high[row] = is_added ? q_high[row] + sum.high : sum.high;
      q_low[row] = is_added ? q_low[row] + sum.low : sum.low;
    }
  }

  std::string_view name_;
  InstructionSet set_;
  RowSum sum_of_row_;
  CsrBlock block_;
  std::vector<std::int64_t> borders_;
  std::vector<double> row_bounds_;
  double most_terms_;
};

}  // namespace exact_csr
}  // namespace

std::unique_ptr<SpmvKernel> make_exact_csr_scalar(CsrBlock block, const KernelOptions& options) {
  return std::make_unique<exact_csr::Kernel>("scalar", InstructionSet::portable, &exact_csr::sum_portable,
                                             std::move(block), options);
}

std::unique_ptr<SpmvKernel> make_exact_csr(CsrBlock block, const KernelOptions& options) {
  auto set = InstructionSet::portable;
  exact_csr::RowSum sum = &exact_csr::sum_portable;
#if defined(__x86_64__)
  constexpr std::array sets{InstructionSet::portable, InstructionSet::fma};
  if (options.instruction_set != InstructionSet::portable) set = of_this_processor(sets).back();
  if (set == InstructionSet::fma) sum = &exact_csr::sum_fma;
#endif
  return std::make_unique<exact_csr::Kernel>("csr-simd", set, sum, std::move(block), options);
}

}  // namespace cg2d::kernels
