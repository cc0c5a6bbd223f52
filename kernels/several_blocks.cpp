// Whole storage in column blocks for several vectors: SELL-4-1024, see several_chunks.hpp. A block's part of the operand
// stays in the second-level cache, where plain CSR takes each entry's elements from the third-level one.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/several_blocks.cpp"
#include <hwy/foreach_target.h>

#include "kernels/several_chunks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace several_blocks {

using several_chunks::Chunk;
using several_chunks::lanes;
using several_chunks::prefetch_distance;

/// Every entry is stored.
struct WholeForm {
  static constexpr bool stores_half = false;
  static constexpr std::int64_t registers_per_lane = 1;  // the sums

  template <typename Row, std::int64_t LaneCount>
  static HWY_INLINE void multiply_lanes(const Chunk& chunk, std::int64_t first_lane) {
    const double* values = chunk.values + first_lane;
    const std::uint16_t* columns = chunk.columns + first_lane;
    Row sums[LaneCount];
#pragma GCC unroll 4
    for (std::int64_t lane = 0; lane < LaneCount; ++lane) sums[lane].clear();
    for (auto rest = chunk.steps; rest > 0; --rest, values += lanes, columns += lanes) {
      prefetch_entries(values, columns, prefetch_distance);
#pragma GCC unroll 4
      for (std::int64_t lane = 0; lane < LaneCount; ++lane) {
        Row elements{};
        elements.load(chunk.p_columns + columns[lane] * Row::size);
        sums[lane].add_scaled(values[lane], elements);
      }
    }
    several_chunks::add_to_rows<Row, LaneCount>(chunk, first_lane, sums);
  }
};
using BlocksLoop = several_chunks::Loop<WholeForm>;

using Loops = several::LoopsByCount<BlocksLoop::Operands>;
Loops loops_for(InstructionSet set) { return several_loops_for<BlocksLoop>(set); }

}  // namespace several_blocks
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "kernels/parallel_parts.hpp"
#include "kernels/sell_matrix.hpp"
#include "kernels/several_chunks.hpp"
#include "kernels/several_vectors.hpp"

namespace cg2d::kernels {
namespace {
namespace several_blocks {

class SeveralBlocks final : public SpmvKernel {
 public:
  SeveralBlocks(const CsrBlock& block, std::int64_t block_width, const KernelOptions& options)
      : set_(several::chosen_set(options)),
        loop_(several::loop_for(CG2D_OF_SET(set_, several_blocks::loops_for), options.vector_count)),
        vector_count_(options.vector_count),
        parts_(sell_parts(block, options.thread_count, several_chunks::shape_of(block_width))) {}

  [[nodiscard]] std::string_view name() const override { return "csr-short"; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(set_); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override {
    std::int64_t bytes = 0;
    for (const auto& part : parts_) bytes += part.byte_count();
    return bytes;
  }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override { return arrays_of_parts(parts_); }
  [[nodiscard]] bool has_columns_in_range() const override {
    return all_parts_hold(static_cast<int>(parts_.size()),
                          [this](std::size_t part) { return parts_[part].has_columns_in_range(); });
  }

  /// A share is a share of the column blocks.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    const int part_count = static_cast<int>(parts_.size());
#pragma omp parallel for num_threads(part_count) schedule(static, 1) if (part_count > 1)
    for (int index = 0; index < part_count; ++index) {
      const auto& part = parts_[static_cast<std::size_t>(index)];
      if (!mode.is_added && mode.share == 0)
        std::fill_n(operands.q_rows.data() + part.first_row * vector_count_, part.row_count * vector_count_,
                    0.0);
      const ShareRange blocks(part.block_count, mode);
      loop_({.part = part,
             .first_block = blocks.begin,
             .last_block = blocks.end,
             .p_columns = operands.p_columns.data(),
             .q_rows = operands.q_rows.data()});
    }
  }

 private:
  InstructionSet set_;
  several::LoopFunction<several_chunks::PartOperands> loop_;
  std::int64_t vector_count_;
  std::vector<SellPart> parts_;  // one per thread
};

/// A row's sums are loaded and stored once per column block where it has entries, so that these must be worth it.
/// On meshes they are not: plain CSR takes few entries per row as fast as the memory gives them. One pass over the
/// entries.
bool are_worthwhile(const CsrBlock& block, std::int64_t width) {
  constexpr std::int64_t least_entries = 4;  // mean entries of a row in a column block
  const int shift = std::countr_zero(static_cast<std::uint64_t>(width));
  std::int64_t pieces = 0;
  for (std::int64_t row = 0; row < block.row_count; ++row) {
    std::int32_t last = -1;
    for (auto k = block.row_starts[static_cast<std::size_t>(row)];
         k < block.row_starts[static_cast<std::size_t>(row) + 1]; ++k) {
      const std::int32_t column_block = block.columns[static_cast<std::size_t>(k)] >> shift;
      if (column_block != last) ++pieces;
      last = column_block;
    }
  }
  return pieces > 0 && block.nonzero_count() >= least_entries * pieces;
}

}  // namespace several_blocks
}  // namespace

std::unique_ptr<SpmvKernel> make_several_blocks(CsrBlock block, const KernelOptions& options) {
  static_cast<void>(several::loop_for(CG2D_OF_SET(several::chosen_set(options), several_blocks::loops_for),
                                      options.vector_count));
  const auto width = several_chunks::block_width(options);
  if (!several_blocks::are_worthwhile(block, width))
    return make_several_rows("csr-short", std::move(block), options);
  const CsrBlock taken = std::move(block);  // given back when the format is made
  return std::make_unique<several_blocks::SeveralBlocks>(taken, width, options);
}

}  // namespace cg2d::kernels
#endif
