// Half storage for several vectors: SELL-4-1024 in column blocks, see several_chunks.hpp. An entry takes a contiguous load of p over its
// column for the sums of its row, which are in registers, and adds to q over its column, which is in memory: as p, in the second-level
// cache. Lanes may have the same column: they add one after the other.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/several_symmetric.cpp"
#include <hwy/foreach_target.h>

#include "kernels/several_chunks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace several_symmetric {

using several_chunks::Chunk;
using several_chunks::lanes;
using several_chunks::prefetch_distance;

/// One entry of each mirrored pair is stored.
struct HalfForm {
  static constexpr bool stores_half = true;
  static constexpr std::int64_t registers_per_lane = 2;  // the sums, and p over the row

  template <typename Row, std::int64_t LaneCount>
  static HWY_INLINE void multiply_lanes(const Chunk& chunk, std::int64_t first_lane) {
    const double* values = chunk.values + first_lane;
    const std::uint16_t* columns = chunk.columns + first_lane;
    Row sums[LaneCount];
    Row p_rows[LaneCount];
#pragma GCC unroll 4
    for (std::int64_t lane = 0; lane < LaneCount; ++lane) {
      sums[lane].clear();
      p_rows[lane].load(chunk.p_rows + chunk.rows[first_lane + lane] * Row::size);
    }
    for (auto rest = chunk.steps; rest > 0; --rest, values += lanes, columns += lanes) {
      prefetch_entries(values, columns, prefetch_distance);
#pragma GCC unroll 4
      for (std::int64_t lane = 0; lane < LaneCount; ++lane) {
        const std::int64_t column = columns[lane] * Row::size;
        Row elements{};
        elements.load(chunk.p_columns + column);
        sums[lane].add_scaled(values[lane], elements);
        Row mirrored{};
        mirrored.load(chunk.q_columns + column);
        mirrored.add_scaled(values[lane], p_rows[lane]);
        mirrored.store(chunk.q_columns + column);
      }
    }
    several_chunks::add_to_rows<Row, LaneCount>(chunk, first_lane, sums);
  }
};
using HalfLoop = several_chunks::Loop<HalfForm>;

using Loops = several::LoopsByCount<HalfLoop::Operands>;
Loops loops_for(InstructionSet set) { return several_loops_for<HalfLoop>(set); }

}  // namespace several_symmetric
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/column_sums.hpp"
#include "kernels/parallel_parts.hpp"
#include "kernels/sell_matrix.hpp"
#include "kernels/several_chunks.hpp"
#include "kernels/several_vectors.hpp"

namespace cg2d::kernels {
namespace {
namespace several_symmetric {

class SeveralSymmetric final : public SpmvKernel {
 public:
  SeveralSymmetric(const CsrBlock& block, const KernelOptions& options)
      : SeveralSymmetric(options, block.column_count) {
    parts_ = sell_parts(block, options.thread_count, shape_);
  }
  /// On one thread, for arrays that are lent.
  SeveralSymmetric(const ExternalArrays& block, const KernelOptions& options)
      : SeveralSymmetric(options, block.column_count) {
    parts_.push_back(external_sell_part(block, shape_));
  }

  [[nodiscard]] std::string_view name() const override { return "symmetric"; }
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
  void multiply(const Operands& operands, const ProductMode& mode) override;

 private:
  SeveralSymmetric(const KernelOptions& options, std::int64_t column_count)
      : set_(several::chosen_set(options)),
        loop_(several::loop_for(CG2D_OF_SET(set_, several_symmetric::loops_for), options.vector_count)),
        vector_count_(options.vector_count),
        column_count_(column_count),
        shape_(several_chunks::shape_of(several_chunks::block_width(options))),
        column_sums_(column_count * options.vector_count, options.thread_count) {}
  void multiply_part(int index, const Operands& operands, const ProductMode& mode);
  /// The columns of a share, as elements of a vector: those of its column blocks.
  [[nodiscard]] RowRange elements_of_share(const ProductMode& mode) const {
    const ShareRange blocks(parts_.front().block_count, mode);
    return {.begin = vector_count_ * std::min(blocks.begin * shape_.block_width, column_count_),
            .end = vector_count_ * std::min(blocks.end * shape_.block_width, column_count_)};
  }

  InstructionSet set_;
  several::LoopFunction<several_chunks::PartOperands> loop_;
  std::int64_t vector_count_;
  std::int64_t column_count_;
  SellShape shape_;
  std::vector<SellPart> parts_;  // one per thread
  ColumnSums column_sums_;
};

/// A share is a share of the column blocks, which are the same for all threads: their sums over the columns of
/// the share are added up before it ends.
void SeveralSymmetric::multiply(const Operands& operands, const ProductMode& mode) {
  const int part_count = static_cast<int>(parts_.size());
  const auto elements = elements_of_share(mode);
  const auto count = elements.end - elements.begin;
#pragma omp parallel num_threads(part_count) if (part_count > 1)
  {
#pragma omp for schedule(static, 1)
    for (int part = 0; part < part_count; ++part) multiply_part(part, operands, mode);
#pragma omp for schedule(static, 1)
    for (int part = 0; part < part_count; ++part) {
      column_sums_.add_to(operands.q_columns, elements.begin + count * part / part_count,
                          elements.begin + count * (part + 1) / part_count);
    }
  }
}

void SeveralSymmetric::multiply_part(int index, const Operands& operands, const ProductMode& mode) {
  const auto& part = parts_[static_cast<std::size_t>(index)];
  if (!mode.is_added && mode.share == 0)
    std::fill_n(operands.q_rows.data() + part.first_row * vector_count_, part.row_count * vector_count_, 0.0);
  auto* const q_columns = column_sums_.of_thread(index, operands.q_columns).data();
  const auto elements = elements_of_share(mode);
  if (!mode.is_continued || index > 0)
    std::fill_n(q_columns + elements.begin, elements.end - elements.begin, 0.0);
  const ShareRange blocks(part.block_count, mode);
  loop_({.part = part,
         .first_block = blocks.begin,
         .last_block = blocks.end,
         .p_columns = operands.p_columns.data(),
         .p_rows = operands.p_rows.data(),
         .q_rows = operands.q_rows.data(),
         .q_columns = q_columns});
}

}  // namespace several_symmetric
}  // namespace

std::unique_ptr<SpmvKernel> make_several_symmetric(CsrBlock block, const KernelOptions& options) {
  const CsrBlock taken = std::move(block);  // given back when the format is made
  return std::make_unique<several_symmetric::SeveralSymmetric>(taken, options);
}

std::unique_ptr<SpmvKernel> make_several_symmetric_external(const ExternalArrays& block,
                                                            const KernelOptions& options) {
  return std::make_unique<several_symmetric::SeveralSymmetric>(block, options);
}

}  // namespace cg2d::kernels
#endif
