// The walk over column blocks, windows and chunks of half storage in SELL (symmetric_sell.hpp), for the loops of its kernels.
// Included once for each processor that a source is compiled for: see vector_targets.hpp.

#if defined(CG2D_KERNELS_SYMMETRIC_LOOPS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CG2D_KERNELS_SYMMETRIC_LOOPS_INL_HPP
#undef CG2D_KERNELS_SYMMETRIC_LOOPS_INL_HPP
#else
#define CG2D_KERNELS_SYMMETRIC_LOOPS_INL_HPP
#endif

#include "kernels/symmetric_sell.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {

using symmetric_sell::ColumnPair;
using symmetric_sell::PartBlocks;
using symmetric_sell::PartOperands;

/// A chunk, with its parts of the vectors.
struct SymmetricChunk {
  const double* values;
  const uint16_t* columns;
  uint32_t steps;
  const uint16_t* rows;  // row of each lane
  const double* p_rows;  // p of the window
  double* row_sums;      // sums of the lanes; overwritten
  ColumnPair* pairs;     // pairs of the column block
  int64_t prefetch_distance;
};

/// A window of a column block whose chunks are multiplied.
struct WindowSums {
  const double* row_sums;
  const uint16_t* positions;  // position of each row
  double* q_rows;             // q of the window
  int64_t row_count;
};

HWY_INLINE void load_pairs(const PartOperands& operands, int64_t first_column, int64_t count) {
  const double* const p = operands.p_columns + first_column;
  if (operands.is_continued) {
    const double* const q = operands.q_columns + first_column;
    for (int64_t k = 0; k < count; ++k) operands.pairs[k] = {.p = p[k], .q = q[k]};
  } else {
    for (int64_t k = 0; k < count; ++k) operands.pairs[k] = {.p = p[k], .q = 0.0};
  }
}

HWY_INLINE void store_sums(const ColumnPair* pairs, int64_t count, double* q) {
  for (int64_t k = 0; k < count; ++k) q[k] = pairs[k].q;
}

/// Several rows at once: one store instead of as many. With some three entries per row of a window (class C) adding them one by one took
/// a fifth of the product.
HWY_INLINE void add_window(const WindowSums& window) {
  const hn::CappedTag<double, 4> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t row = 0;
  for (; row + lanes <= window.row_count; row += lanes) {
    double* const q = window.q_rows + row;
    hn::StoreU(hn::Add(hn::LoadU(d, q), FewElements::load(d, window.row_sums, window.positions + row)), d, q);
  }
  for (; row < window.row_count; ++row) window.q_rows[row] += window.row_sums[window.positions[row]];
}

/// Form::multiply(chunk).
template <typename Form>
void multiply_symmetric(const PartBlocks& range, const PartOperands& operands) {
  using symmetric_sell::lanes;
  const SellPart& part = range.part;
  const int64_t* first_chunk = part.first_chunk.data() + range.first_block * part.window_count;
  const uint32_t* steps = part.steps.data() + *first_chunk;
  const uint16_t* positions =
      part.positions.data() + part.first_position[static_cast<size_t>(range.first_block)];
  const int64_t first_entry = part.first_step[static_cast<size_t>(range.first_block)] * lanes;
  SymmetricChunk chunk{.values = part.values.data() + first_entry,
                       .columns = part.columns.data() + first_entry,
                       .steps = 0,
                       .rows = part.rows.data() + *first_chunk * lanes,
                       .p_rows = nullptr,
                       .row_sums = nullptr,
                       .pairs = operands.pairs,
                       .prefetch_distance = range.prefetch_distance};
  for (int64_t block = range.first_block; block < range.last_block; ++block) {
    const int64_t first_column = block * part.shape.block_width;
    const int64_t width = std::min(part.shape.block_width, operands.column_count - first_column);
    load_pairs(operands, first_column, width);
    for (int64_t window = 0; window < part.window_count; ++window, ++first_chunk) {
      if (first_chunk[0] == first_chunk[1]) continue;
      const int64_t first_row = window * part.shape.window_rows;
      chunk.p_rows = operands.p_rows + part.first_row + first_row;
      chunk.row_sums = operands.row_sums;
      for (int64_t rest = first_chunk[1] - first_chunk[0]; rest > 0; --rest) {
        chunk.steps = *steps++;
        Form::multiply(chunk);
        chunk.values += chunk.steps * lanes;
        chunk.columns += chunk.steps * lanes;
        chunk.rows += lanes;
        chunk.row_sums += lanes;
      }
      add_window({.row_sums = operands.row_sums,
                  .positions = positions,
                  .q_rows = operands.q_rows + part.first_row + first_row,
                  .row_count = std::min(part.shape.window_rows, part.row_count - first_row)});
      positions += part.shape.window_rows;
    }
    store_sums(chunk.pairs, width, operands.q_columns + first_column);
  }
}

}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
