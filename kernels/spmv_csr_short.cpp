// Kernel "csr-short": CSR in column blocks with 16-bit columns; 10 bytes per nonzero instead of 12, in the
// loops of plain CSR. Blocks are as wide as 16 bits reach, so that rows stay long and their lengths cost
// little.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmv_csr_short.cpp"
#include <hwy/foreach_target.h>

#include "kernels/csr_row_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace csr_short {

using Loop = CsrRowsLoop<const uint32_t*, uint16_t>;

Loop loop_for(InstructionSet set) { return csr_loop_for<const uint32_t*, uint16_t>(set); }

}  // namespace csr_short
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "kernels/loop_choice.hpp"
#include "kernels/parts_kernel.hpp"
#include "kernels/several_vectors.hpp"

namespace cg2d::kernels {
namespace {
namespace csr_short {

constexpr Tuning defaults{
    .critical_vector_length = 8, .prefetch_distance = 512, .block_width = max_block_width};

using Loop = CsrRowsLoop<const uint32_t*, uint16_t>;

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
  int64_t byte_count() const {
    return static_cast<int64_t>(lengths.size() * sizeof(uint32_t) + columns.size() * sizeof(uint16_t) +
                                values.size() * sizeof(double) + block_starts.size() * sizeof(int64_t));
  }
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
  /// The lengths of the part's rows in one column block.
  [[nodiscard]] std::span<uint32_t> lengths_of(int64_t column_block) {
    return lengths.span().subspan(static_cast<size_t>(column_block * row_count),
                                  static_cast<size_t>(row_count));
  }
  CsrRows<const uint32_t*, uint16_t> rows_of(int64_t column_block, bool are_added) const {
    const auto start = block_starts[static_cast<size_t>(column_block)];
    return {.lengths = lengths.data() + column_block * row_count,
            .columns = columns.data() + start,
            .values = values.data() + start,
            .row_count = row_count,
            .are_added = are_added || column_block > 0};
  }
};

/// A part with the lengths of its rows in every column block, without entries. `block_count` is at least 1,
/// since the product with the first column block overwrites q.
Part count_entries(const CsrBlock& block, const RowRange& rows, int64_t block_width, int64_t block_count) {
  Part part{.first_row = rows.begin,
            .row_count = rows.end - rows.begin,
            .column_count = block.column_count,
            .block_width = block_width,
            .lengths = PageBuffer<uint32_t>(static_cast<size_t>(block_count * (rows.end - rows.begin))),
            .columns = {},
            .values = {},
            .block_starts = {0}};
  const int shift = std::countr_zero(static_cast<uint64_t>(block_width));
  for (int64_t row = 0; row < part.row_count; ++row) {
    const auto r = static_cast<size_t>(part.first_row + row);
    for (auto k = static_cast<size_t>(block.row_starts[r]); k < static_cast<size_t>(block.row_starts[r + 1]);
         ++k) {
      const int64_t column_block = block.columns[k] >> shift;
      ++part.lengths[static_cast<size_t>(column_block * part.row_count + row)];
    }
  }
  for (int64_t column_block = 0; column_block < block_count; ++column_block) {
    const auto lengths = part.lengths_of(column_block);
    part.block_starts.push_back(std::accumulate(lengths.begin(), lengths.end(), part.block_starts.back()));
  }
  return part;
}

Part make_part(const CsrBlock& block, const RowRange& rows, int64_t block_width) {
  const int64_t block_count = std::max<int64_t>(1, (block.column_count + block_width - 1) / block_width);
  Part part = count_entries(block, rows, block_width, block_count);
  part.columns = PageBuffer<uint16_t>(static_cast<size_t>(part.block_starts.back()));
  part.values = PageBuffer<double>(static_cast<size_t>(part.block_starts.back()));
  const auto starts =
      block.row_starts.span().subspan(static_cast<size_t>(rows.begin), static_cast<size_t>(part.row_count));
  std::vector<int64_t> next_entry(starts.begin(), starts.end());
  size_t target = 0;
  for (int64_t column_block = 0; column_block < block_count; ++column_block) {
    const auto first_column = static_cast<int32_t>(column_block * block_width);
    const auto lengths = part.lengths_of(column_block);
    for (size_t row = 0; row < lengths.size(); ++row) {
      auto source = static_cast<size_t>(next_entry[row]);
      for (uint32_t rest = lengths[row]; rest > 0; --rest, ++source, ++target) {
        part.columns[target] = static_cast<uint16_t>(block.columns[source] - first_column);
        part.values[target] = block.values[source];
      }
      next_entry[row] = static_cast<int64_t>(source);
    }
  }
  return part;
}

InstructionSet preferred_instruction_set();

class CsrShortKernel final : public PartsKernel<Part> {
 public:
  CsrShortKernel(InstructionSet set, std::vector<Part> parts, const Tuning& tuning)
      : PartsKernel("csr-short", set, std::move(parts)),
        loop_(CG2D_OF_SET(set, csr_short::loop_for)),
        settings_(csr_loop_config(tuning, defaults)) {}

  /// A share is a share of the column blocks.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    on_each_part([&](const Part& part) {
      const ShareRange blocks(part.block_count(), mode);
      for (auto column_block = blocks.begin; column_block < blocks.end; ++column_block) {
        loop_(part.rows_of(column_block, mode.is_added), settings_,
              operands.p_columns.data() + column_block * part.block_width,
              operands.q_rows.data() + part.first_row);
      }
    });
  }

 private:
  Loop loop_;
  CsrLoopConfig settings_;
};

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  if (options.vector_count > 1) return make_several_blocks(std::move(block), options);
  const auto set =
      choose_instruction_set(options.instruction_set, csr_instruction_sets(), preferred_instruction_set);
  const int64_t block_width = options.tuning.block_width.value_or(*defaults.block_width);
  auto parts = make_parts<Part>(block, options.thread_count,
                                [&](const RowRange& rows) { return make_part(block, rows, block_width); });
  return std::make_unique<CsrShortKernel>(set, std::move(parts), options.tuning);
}

InstructionSet preferred_instruction_set() {
  static const auto fastest = fastest_loop(make, csr_instruction_sets(), fastest_gathering_instruction_set());
  return fastest;
}

}  // namespace csr_short
}  // namespace

KernelRow csr_short_kernel() {
  return {
      .name = "csr-short",
      .description =
          "CSR in column blocks, 16-bit columns; rows from the critical vector length on (--cvl) in "
          "vector registers, with gathers",
      .bytes_per_nonzero = 10.0,
      .converts = true,
      .defaults = csr_short::defaults,
      .instruction_sets = csr_instruction_sets(),
      .preferred_instruction_set = csr_short::preferred_instruction_set,
      .make = csr_short::make,
      .makes_several = true,
      .is_default_for_several = true,
  };
}

}  // namespace cg2d::kernels
#endif
