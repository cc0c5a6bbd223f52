// The way through the chunks of the format of the kernel "sell", for the loops of its usual and its reproducible form.
// Included once for each processor that a source is compiled for: see vector_targets.hpp.

#if defined(CG2D_KERNELS_SELL_LOOPS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CG2D_KERNELS_SELL_LOOPS_INL_HPP
#undef CG2D_KERNELS_SELL_LOOPS_INL_HPP
#else
#define CG2D_KERNELS_SELL_LOOPS_INL_HPP
#endif

#include "kernels/sell_matrix.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {

/// A chunk, with its part of p.
struct SellChunk {
  const double* values;
  const uint16_t* columns;
  uint32_t steps;
  const double* p;       // p of the column block
  const uint16_t* rows;  // row of each lane, counted from the window's first row
  int64_t window_row;    // the window's first row
  int64_t prefetch_distance;
};

/// A chunk's lanes, or as many as a register has, which may be known only at run time.
using SellLanes = hn::CappedTag<double, sell_lanes>;

/// Form::most_registers, and Form::multiply<Registers, Elements>(chunk, first_lane, operands): so many registers side by side.
template <typename Form, int Registers, typename Elements>
void multiply_blocks(const SellOperands& operands) {
  const auto lanes_at_once = Registers * static_cast<int64_t>(hn::Lanes(SellLanes()));
  const SellPart& part = operands.part;
  const int64_t* first_chunk = part.first_chunk.data() + operands.first_block * part.window_count;
  const uint32_t* steps = part.steps.data() + *first_chunk;
  const int64_t first_entry = part.first_step[static_cast<size_t>(operands.first_block)] * sell_lanes;
  SellChunk chunk{.values = part.values.data() + first_entry,
                  .columns = part.columns.data() + first_entry,
                  .steps = 0,
                  .p = operands.p_columns + operands.first_block * part.shape.block_width,
                  .rows = part.rows.data() + *first_chunk * sell_lanes,
                  .window_row = 0,
                  .prefetch_distance = operands.prefetch_distance};
  for (int64_t block = operands.first_block; block < operands.last_block; ++block) {
    chunk.window_row = part.first_row;
    for (int64_t window = 0; window < part.window_count; ++window) {
      for (int64_t rest = first_chunk[1] - first_chunk[0]; rest > 0; --rest) {
        chunk.steps = *steps++;
        for (int64_t lane = 0; lane < sell_lanes; lane += lanes_at_once)
          Form::template multiply<Registers, Elements>(chunk, lane, operands);
        chunk.values += chunk.steps * sell_lanes;
        chunk.columns += chunk.steps * sell_lanes;
        chunk.rows += sell_lanes;
      }
      ++first_chunk;
      chunk.window_row += part.shape.window_rows;
    }
    chunk.p += part.shape.block_width;
  }
}

/// The loop of a form for this processor.
template <typename Form>
SellLoop sell_loop_of(InstructionSet set) {
  return with_elements_of(set, []<typename Elements>(Elements) -> SellLoop {
    return with_registers_for<sell_lanes, Form::most_registers>(
        [](auto registers) -> SellLoop { return &multiply_blocks<Form, registers(), Elements>; });
  });
}

}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
