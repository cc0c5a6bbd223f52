// The walk over column blocks, windows and chunks for several vectors. Included once for each processor that a source is compiled for: see
// vector_targets.hpp.

#if defined(CG2D_KERNELS_SEVERAL_CHUNKS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CG2D_KERNELS_SEVERAL_CHUNKS_INL_HPP
#undef CG2D_KERNELS_SEVERAL_CHUNKS_INL_HPP
#else
#define CG2D_KERNELS_SEVERAL_CHUNKS_INL_HPP
#endif

#include "kernels/several_chunks.hpp"
#include "kernels/several_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE::several_chunks {

using kernels::several_chunks::Chunk;
using kernels::several_chunks::lanes;
using kernels::several_chunks::PartOperands;
using kernels::several_chunks::prefetch_distance;
using kernels::several_chunks::window_rows;

/// A window's rows are taken in the order of their lengths, which no processor foresees; between two column blocks
/// they may leave every cache. Addresses after the last row are harmless to fetch.
template <typename Row>
HWY_INLINE void prefetch_next_window(const double* q, std::int64_t chunk_number) {
  constexpr std::int64_t line = 8;  // doubles
  constexpr std::int64_t chunk_size = lanes * Row::size;
  const double* const next = q + window_rows * Row::size + chunk_number * chunk_size;
#pragma GCC unroll 8
  for (std::int64_t k = 0; k < chunk_size; k += line) __builtin_prefetch(next + k, 1, 2);
}

/// Multiplies as many lanes at once as fit registers: Form::registers_per_lane times a row's elements each.
template <typename Form, typename Row>
HWY_INLINE void multiply_chunk(const Chunk& chunk) {
  constexpr std::int64_t registers = 8;
  constexpr std::int64_t lanes_at_once =
      std::clamp<std::int64_t>(registers * Row::lanes / (Row::size * Form::registers_per_lane), 1, lanes);
  for (std::int64_t lane = 0; lane < lanes; lane += lanes_at_once)
    Form::template multiply_lanes<Row, lanes_at_once>(chunk, lane);
}

/// One lane after the other: lanes without a row of their own add zeros to the row of another one.
template <typename Row, std::int64_t LaneCount>
HWY_INLINE void add_to_rows(const Chunk& chunk, std::int64_t first_lane, const Row (&sums)[LaneCount]) {
#pragma GCC unroll 4
  for (std::int64_t lane = 0; lane < LaneCount; ++lane) {
    double* const q = chunk.q_rows + chunk.rows[first_lane + lane] * Row::size;
    Row row{};
    row.load(q);
    row.add_scaled(1.0, sums[lane]);
    row.store(q);
  }
}

/// Form: stores_half, registers_per_lane, and multiply_lanes<Row, LaneCount>(chunk, first_lane), which is always inlined.
template <typename Form>
struct Loop {
  using Operands = PartOperands;

  template <typename Row>
  static HWY_INLINE void run(const Operands& operands) {
    const SellPart& part = operands.part;
    const std::int64_t* first_chunk = part.first_chunk.data() + operands.first_block * part.window_count;
    const std::int64_t entry = part.first_step[static_cast<std::size_t>(operands.first_block)] * lanes;
    Chunk chunk{.values = part.values.data() + entry,
                .columns = part.columns.data() + entry,
                .steps = 0,
                .rows = part.rows.data() + *first_chunk * lanes,
                .p_columns = nullptr,
                .p_rows = nullptr,
                .q_rows = nullptr,
                .q_columns = nullptr};
    for (auto block = operands.first_block; block < operands.last_block; ++block) {
      const std::int64_t first_column = block * part.shape.block_width * Row::size;
      chunk.p_columns = operands.p_columns + first_column;
      if constexpr (Form::stores_half) chunk.q_columns = operands.q_columns + first_column;
      for (std::int64_t window = 0; window < part.window_count; ++window, ++first_chunk) {
        const std::int64_t first_row = (part.first_row + window * window_rows) * Row::size;
        if constexpr (Form::stores_half) chunk.p_rows = operands.p_rows + first_row;
        chunk.q_rows = operands.q_rows + first_row;
        for (auto number = first_chunk[0]; number < first_chunk[1]; ++number) {
          prefetch_next_window<Row>(chunk.q_rows, number - first_chunk[0]);
          chunk.steps = part.steps[static_cast<std::size_t>(number)];
          multiply_chunk<Form, Row>(chunk);
          chunk.values += chunk.steps * lanes;
          chunk.columns += chunk.steps * lanes;
          chunk.rows += lanes;
        }
      }
    }
  }
};

}  // namespace cg2d::kernels::HWY_NAMESPACE::several_chunks
HWY_AFTER_NAMESPACE();

#endif
