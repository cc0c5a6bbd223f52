// The way through the chunks and steps of the format of the kernel "sell-rows", for the loops of its usual and its reproducible form.
// Included once for each processor that a source is compiled for: see vector_targets.hpp.

#if defined(CG2D_KERNELS_ROW_SELL_LOOPS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef CG2D_KERNELS_ROW_SELL_LOOPS_INL_HPP
#undef CG2D_KERNELS_ROW_SELL_LOOPS_INL_HPP
#else
#define CG2D_KERNELS_ROW_SELL_LOOPS_INL_HPP
#endif

#include "kernels/row_sell.hpp"
#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {

/// A chunk's lanes, or as many as a register has, which may be known only at run time.
using RowSellLanes = hn::CappedTag<double, row_sell_lanes>;

/// The place in a part's arrays where a chunk begins.
struct RowSellCursor {
  const double* values;
  const int32_t* bases;
  const uint16_t* near_columns;
  const int32_t* far_columns;
  const uint16_t* rows;
  int64_t prefetch_distance;

  HWY_INLINE void pass(const RowChunk& chunk) {
    const int64_t based_steps = int64_t{chunk.consecutive_steps} + chunk.near_steps;
    values += (based_steps + chunk.far_steps) * row_sell_lanes;
    bases += based_steps;
    near_columns += chunk.near_steps * row_sell_lanes;
    far_columns += chunk.far_steps * row_sell_lanes;
    if (chunk.listed_row_count != 0) rows += row_sell_lanes;
  }
};

/// The rows of a chunk: `first`, first + 1, ..., or those that are listed, counted from `first`.
struct ChunkRows {
  int64_t first;
  int listed_count;
  const uint16_t* listed;
  bool are_added;
};

/// The sums of a chunk's rows.
struct ChunkSums {
  double high[row_sell_lanes];
  double low[row_sell_lanes];  // of reproducible sums
};

/// Sets the rows of q to the sums, or adds them.
HWY_INLINE void store_rows(const ChunkRows& rows, const double* sums, double* q) {
  double* const first = q + rows.first;
  if (rows.listed_count == 0) {
    if (rows.are_added) {
      for (int lane = 0; lane < row_sell_lanes; ++lane) first[lane] += sums[lane];
    } else {
      std::memcpy(first, sums, row_sell_lanes * sizeof(double));
    }
    return;
  }
  for (int lane = 0; lane < rows.listed_count; ++lane) {
    double& row = first[rows.listed[lane]];
    row = rows.are_added ? row + sums[lane] : sums[lane];
  }
}

/// add(values, elements) for every step of a chunk: `values` has the entry of the first lane, and elements(lane) is a vector with the
/// elements of p for the lanes from that one on.
template <typename Add>
HWY_INLINE void for_each_step(const RowChunk& chunk, const RowSellCursor& begin, const double* p, Add add) {
  const RowSellLanes d;
  RowSellCursor at = begin;
  for (uint32_t step = 0; step < chunk.consecutive_steps; ++step, at.values += row_sell_lanes) {
    const double* const first = p + *at.bases++;
    prefetch_entries(at.values, at.values, at.prefetch_distance);
    add(at.values, [&](int64_t lane) HWY_ATTR { return hn::LoadU(d, first + lane); });
  }
  for (uint32_t step = 0; step < chunk.near_steps; ++step, at.values += row_sell_lanes) {
    const double* const base = p + *at.bases++;
    prefetch_entries(at.values, at.values, at.prefetch_distance);
    add(at.values, [&](int64_t lane) HWY_ATTR { return FewElements::load(d, base, at.near_columns + lane); });
    at.near_columns += row_sell_lanes;
  }
  for (uint32_t step = 0; step < chunk.far_steps; ++step, at.values += row_sell_lanes) {
    for (int64_t lane = 0; lane < row_sell_lanes; ++lane)
      __builtin_prefetch(p + at.far_columns[row_sell_far_ahead * row_sell_lanes + lane]);
    prefetch_entries(at.values, at.values, at.prefetch_distance);
    add(at.values, [&](int64_t lane) HWY_ATTR { return FewElements::load(d, p, at.far_columns + lane); });
    at.far_columns += row_sell_lanes;
  }
}

/// Form: multiply<Registers>(chunk, at, rows, first_lane, operands, sums) for the lanes of so many registers side by side;
/// store(rows, sums, operands).
template <typename Form, int Registers>
void multiply_windows(const RowSellOperands& operands) {
  const auto lanes_at_once = Registers * static_cast<int64_t>(hn::Lanes(RowSellLanes()));
  const auto& part = operands.part;
  const auto& begin = part.windows[static_cast<size_t>(operands.first_window)];
  RowSellCursor at{.values = part.values.data() + begin.step * row_sell_lanes,
                   .bases = part.bases.data() + begin.base,
                   .near_columns = part.near_columns.data() + begin.near_step * row_sell_lanes,
                   .far_columns = part.far_columns.data() + begin.far_step * row_sell_lanes,
                   .rows = part.rows.data() + begin.listed_chunk * row_sell_lanes,
                   .prefetch_distance = operands.prefetch_distance};
  for (auto window = operands.first_window; window < operands.last_window; ++window) {
    const auto index = static_cast<size_t>(window);
    const auto window_row = part.first_row + window * row_sell_window_rows;
    for (auto number = part.windows[index].chunk; number < part.windows[index + 1].chunk; ++number) {
      const RowChunk chunk = part.chunks[static_cast<size_t>(number)];
      const bool are_listed = chunk.listed_row_count != 0;
      const ChunkRows rows{.first = are_listed ? window_row : window_row + chunk.first_row,
                           .listed_count = chunk.listed_row_count,
                           .listed = at.rows,
                           .are_added = operands.are_added};
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): Form::multiply sets what Form::store takes
      ChunkSums sums;
      for (int64_t lane = 0; lane < row_sell_lanes; lane += lanes_at_once)
        Form::template multiply<Registers>(chunk, at, rows, lane, operands, sums);
      Form::store(rows, sums, operands);
      at.pass(chunk);
    }
  }
}

/// The loop of a form for this processor.
template <typename Form>
RowSellLoop row_sell_loop_of(InstructionSet /*set*/) {
  return with_registers_for<row_sell_lanes, 4>(
      [](auto registers) -> RowSellLoop { return &multiply_windows<Form, registers()>; });
}

}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
