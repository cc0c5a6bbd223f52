// The kernels on CSR: the references "scalar" and "symmetric-scalar"; and "csr-simd", plain CSR, 12 bytes per nonzero and no conversion, and
// "csr-short", CSR in column blocks with 16-bit columns, 10 bytes, in the same loops. Rows from the critical vector length on take a loop with
// several sums. Shorter rows take a scalar loop, since setting up and summing up vector registers costs more than a few scalar products. (On the
// CP-PACS the paper's first compiler switched at 50 entries, and the best grid depended on it.)

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmv_csr.cpp"
#include <hwy/foreach_target.h>

#include <type_traits>

#include "kernels/csr_rows_kernel.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {

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

template <typename Elements, typename Rows>
void multiply_rows(const Rows& rows, const CsrLoopConfig& settings, const double* p, double* q) {
  const double* values = rows.values;
  const auto* columns = rows.columns;
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

template <typename Rows>
CsrRowsLoop<Rows> csr_loop_for(InstructionSet set) {
  return with_elements_of(
      set, []<typename Elements>(Elements) -> CsrRowsLoop<Rows> { return &multiply_rows<Elements, Rows>; });
}

}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace cg2d::kernels {
namespace {

/// The references: one row after the other, additions in the order of the columns. All other kernels are compared with them.
namespace scalar {

/// One accumulator: the inner loop of the official program.
void multiply_rows(const CsrBlock& block, const CsrRowOperands& operands) {
  const int64_t* row_starts = block.row_starts.data();
  const int32_t* columns = block.columns.data();
  const double* values = block.values.data();
  for (int64_t row = operands.first_row; row < operands.last_row; ++row) {
    double sum = 0.0;
    for (int64_t k = row_starts[row]; k < row_starts[row + 1]; ++k) sum += values[k] * operands.p[columns[k]];
    operands.q[row] = operands.are_added ? operands.q[row] + sum : sum;
  }
}

/// Adds to the sums over the columns, too.
void multiply_half_rows(const CsrBlock& block, const CsrRowOperands& operands) {
  const int64_t* row_starts = block.row_starts.data();
  const int32_t* columns = block.columns.data();
  const double* values = block.values.data();
  for (int64_t row = operands.first_row; row < operands.last_row; ++row) {
    const double p_row = operands.p_rows[row];
    double sum = 0.0;
    for (int64_t k = row_starts[row]; k < row_starts[row + 1]; ++k) {
      sum += values[k] * operands.p[columns[k]];
      operands.q_columns[columns[k]] += values[k] * p_row;
    }
    operands.q[row] = operands.are_added ? operands.q[row] + sum : sum;
  }
}

}  // namespace scalar

namespace csr_simd {

constexpr Tuning defaults{.critical_vector_length = 8, .prefetch_distance = 256};

RowsOfCsrSimd rows_of(const CsrBlock& block, const CsrRowOperands& operands) {
  const int64_t* starts = block.row_starts.data() + operands.first_row;
  return {.lengths = {.starts = starts},
          .columns = block.columns.data() + *starts,
          .values = block.values.data() + *starts,
          .row_count = operands.last_row - operands.first_row,
          .are_added = operands.are_added};
}

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  if (options.vector_count > 1) return make_several_rows("csr-simd", std::move(block), options);
  if (options.most_terms > 0.0) {
    auto exact_options = options;
    constexpr std::array sets{InstructionSet::portable, InstructionSet::fma, InstructionSet::sve};
    if (options.instruction_set != InstructionSet::portable)
      exact_options.instruction_set = of_this_processor(sets).back();
    return make_exact_csr("csr-simd", std::move(block), exact_options);
  }
  const auto loop = CG2D_OF_SET(*options.instruction_set, csr_loop_for<RowsOfCsrSimd>);
  const auto settings = csr_loop_config(options.tuning, defaults);
  const auto multiply_rows = [=](const CsrBlock& rows_block, const CsrRowOperands& operands) {
    loop(rows_of(rows_block, operands), settings, operands.p, operands.q + operands.first_row);
  };
  return std::make_unique<CsrRowsKernel>("csr-simd", multiply_rows, std::move(block), options);
}

}  // namespace csr_simd

/// Blocks are as wide as 16 bits reach, so that rows stay long and their lengths cost little.
namespace csr_short {

constexpr Tuning defaults{
    .critical_vector_length = 8, .prefetch_distance = 512, .block_width = max_block_width};

/// The consecutive rows that one thread multiplies: column block by column block, row by row, entry by entry.
/// It stores lengths of rows, which take half the bytes of starts.
struct Part {
  int64_t first_row = 0;
  int64_t row_count = 0;
  int64_t column_count = 0;
  int64_t block_width = 0;
  PageBuffer<uint32_t> lengths;  // length of every row in every column block
  PageBuffer<uint16_t> columns;  // counted from the column block's first one
  PageBuffer<double> values;
  std::vector<int64_t> block_starts;  // the first entry of every column block, and the end

  int64_t block_count() const { return static_cast<int64_t>(block_starts.size()) - 1; }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() {
    return {stored_array(ArrayKind::values, values), stored_array(ArrayKind::columns, columns),
            stored_array(ArrayKind::structure, lengths),
            stored_array(ArrayKind::structure, std::span(block_starts))};
  }
  bool has_columns_in_range() const {
    for (int64_t column_block = 0; column_block < block_count(); ++column_block) {
      const auto index = static_cast<size_t>(column_block);
      const auto entries =
          columns.span().subspan(static_cast<size_t>(block_starts[index]),
                                 static_cast<size_t>(block_starts[index + 1] - block_starts[index]));
      if (entries.empty()) continue;
      const auto width = std::min(block_width, column_count - column_block * block_width);
      uint16_t greatest = 0;
      for (const uint16_t column : entries) greatest = std::max(greatest, column);
      if (greatest >= width) return false;
    }
    return true;
  }
  RowsOfCsrShort rows_of(int64_t column_block, bool are_added) const {
    const auto start = block_starts[static_cast<size_t>(column_block)];
    return {.lengths = lengths.data() + column_block * row_count,
            .columns = columns.data() + start,
            .values = values.data() + start,
            .row_count = row_count,
            .are_added = are_added || column_block > 0};
  }
};

/// Column block by column block. There is at least one, since the product with the first one overwrites q.
Part make_part(const CsrBlock& block, const RowRange& rows, int64_t block_width) {
  const int64_t block_count = std::max<int64_t>(1, (block.column_count + block_width - 1) / block_width);
  const auto starts = block.row_starts.span().subspan(static_cast<size_t>(rows.begin),
                                                      static_cast<size_t>(rows.end - rows.begin));
  const auto entry_count = static_cast<size_t>(block.row_starts[static_cast<size_t>(rows.end)] -
                                               block.row_starts[static_cast<size_t>(rows.begin)]);
  Part part{.first_row = rows.begin,
            .row_count = rows.end - rows.begin,
            .column_count = block.column_count,
            .block_width = block_width,
            .lengths = PageBuffer<uint32_t>(static_cast<size_t>(block_count) * starts.size()),
            .columns = PageBuffer<uint16_t>(entry_count),
            .values = PageBuffer<double>(entry_count),
            .block_starts = {0}};
  std::vector<int64_t> next_entry(starts.begin(), starts.end());
  auto* length = part.lengths.data();
  size_t target = 0;
  for (int64_t column_block = 0; column_block < block_count; ++column_block) {
    const auto first_column = column_block * block_width;
    for (size_t row = 0; row < starts.size(); ++row, ++length) {
      const auto end = block.row_starts[static_cast<size_t>(rows.begin) + row + 1];
      for (auto& next = next_entry[row]; next < end; ++next, ++target, ++*length) {
        const auto column = block.columns[static_cast<size_t>(next)] - first_column;
        if (column >= block_width) break;
        part.columns[target] = static_cast<uint16_t>(column);
        part.values[target] = block.values[static_cast<size_t>(next)];
      }
    }
    part.block_starts.push_back(static_cast<int64_t>(target));
  }
  return part;
}

class CsrShortKernel final : public FormatKernel<Parts<Part>> {
 public:
  CsrShortKernel(Parts<Part> parts, const KernelOptions& options)
      : FormatKernel("csr-short", options, std::move(parts)),
        loop_(CG2D_OF_SET(*options.instruction_set, csr_loop_for<RowsOfCsrShort>)),
        settings_(csr_loop_config(options.tuning, defaults)) {}

  /// A share is a share of the column blocks.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    on_each_thread([&](int thread) {
      const auto& part = format()[thread];
      const ShareRange blocks(part.block_count(), mode);
      for (auto column_block = blocks.begin; column_block < blocks.end; ++column_block) {
        loop_(part.rows_of(column_block, mode.is_added), settings_,
              operands.p_columns.data() + column_block * part.block_width,
              operands.q_rows.data() + part.first_row);
      }
    });
  }

 private:
  CsrRowsLoop<RowsOfCsrShort> loop_;
  CsrLoopConfig settings_;
};

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  if (options.vector_count > 1) return make_several_blocks("csr-short", std::move(block), options);
  const int64_t block_width = options.tuning.block_width.value_or(*defaults.block_width);
  return std::make_unique<CsrShortKernel>(
      Parts<Part>{
          make_parts<Part>(block, options.thread_count,
                           [&](const RowRange& rows) { return make_part(block, rows, block_width); })},
      options);
}

}  // namespace csr_short

}  // namespace

KernelRow scalar_kernel() {
  return {
      .name = "scalar",
      .description = "reference: plain CSR, one accumulator, the inner loop of the official program",
      .bytes_per_nonzero = 12.0,
      .instruction_sets = {InstructionSet::portable},
      .maker = [](CsrBlock block, const KernelOptions& options) -> std::unique_ptr<SpmvKernel> {
        if (options.most_terms > 0.0) return make_exact_csr("scalar", std::move(block), options);
        return std::make_unique<CsrRowsKernel>("scalar", &scalar::multiply_rows, std::move(block), options);
      },
      .makes_reproducible = true,
  };
}

KernelRow symmetric_scalar_kernel() {
  return {
      .name = "symmetric-scalar",
      .description =
          "symmetric storage: one entry of each mirrored pair; plain CSR, the reference of its kind",
      .storage = Storage::half,
      .bytes_per_nonzero = 6.0,
      .instruction_sets = {InstructionSet::portable},
      .maker = [](CsrBlock block, const KernelOptions& options) -> std::unique_ptr<SpmvKernel> {
        return std::make_unique<CsrRowsKernel>("symmetric-scalar", &scalar::multiply_half_rows,
                                               std::move(block), options, Storage::half);
      },
  };
}

KernelRow csr_simd_kernel() {
  return {
      .name = "csr-simd",
      .description =
          "plain CSR; rows from the critical vector length on (--cvl) in vector registers, with gathers",
      .bytes_per_nonzero = 12.0,
      .defaults = csr_simd::defaults,
      .instruction_sets = of_this_processor(all_instruction_sets),
      .measured_instruction_set = measured_set<csr_simd::make, all_instruction_sets>,
      .maker = csr_simd::make,
      .makes_several = true,
      .makes_reproducible = true,
  };
}

KernelRow csr_short_kernel() {
  return {
      .name = "csr-short",
      .description =
          "CSR in column blocks, 16-bit columns; rows from the critical vector length on (--cvl) in "
          "vector registers, with gathers",
      .bytes_per_nonzero = 10.0,
      .converts = true,
      .windows = {.bytes = sizeof(uint32_t)},
      .defaults = csr_short::defaults,
      .instruction_sets = of_this_processor(all_instruction_sets),
      .measured_instruction_set = measured_set<csr_short::make, all_instruction_sets>,
      .maker = csr_short::make,
      .makes_several = true,
      .is_default_for_several = true,
  };
}

}  // namespace cg2d::kernels
#endif
