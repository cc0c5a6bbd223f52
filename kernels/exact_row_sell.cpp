// Products with a block in the format of the kernel "sell-rows" whose sums do not depend on order (exact_sums.hpp).

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/exact_row_sell.cpp"
#include <hwy/foreach_target.h>

#include "kernels/exact_vectors-inl.hpp"
#include "kernels/row_sell_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace exact_row_sell {

using Lanes = VectorOf<RowSellLanes>;

struct Form {
  static constexpr int most_registers = 4;

  template <int Registers>
  static HWY_INLINE void multiply(const RowChunk& chunk, const RowSellCursor& at, const ChunkRows& rows,
                                  int64_t first_lane, const RowSellVectors& vectors, ChunkSums& sums) {
    const RowSellLanes d;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    double bounds_of_listed[row_sell_lanes];
    const double* bounds = vectors.row_bounds + rows.first;
    if (rows.listed_count != 0) {
      for (int lane = 0; lane < row_sell_lanes; ++lane)  // lanes without a row: their terms are zeros
        bounds_of_listed[lane] = lane < rows.listed_count ? bounds[rows.listed[lane]] : 0.0;
      bounds = bounds_of_listed;
    }
    const auto p_bound = hn::Set(d, vectors.p_bound);
    const auto high_factor = hn::Set(d, SplitConstants::high_factor);
    const auto low_factor = hn::Set(d, vectors.low_factor);
    const auto bounds_from = [&](int64_t lane)
                                 HWY_ATTR { return hn::Mul(hn::LoadU(d, bounds + lane), p_bound); };
    const auto begin = [&](int64_t lane, Lanes& high, Lanes& constants) HWY_ATTR {
      const auto lane_bounds = bounds_from(lane);
      high = hn::Mul(lane_bounds, high_factor);
      constants = hn::Mul(lane_bounds, low_factor);
    };
    auto high0 = hn::Zero(d), low0 = high0, constants0 = high0;
    [[maybe_unused]] auto high1 = high0, low1 = high0, constants1 = high0;
    [[maybe_unused]] auto high2 = high0, low2 = high0, constants2 = high0;
    [[maybe_unused]] auto high3 = high0, low3 = high0, constants3 = high0;
    begin(first_lane, high0, constants0);
    if constexpr (Registers > 1) begin(first_lane + n, high1, constants1);
    if constexpr (Registers > 2) {
      begin(first_lane + 2 * n, high2, constants2);
      begin(first_lane + 3 * n, high3, constants3);
    }
    for_each_step(chunk, at, vectors.p, [&](const double* values, auto elements) HWY_ATTR {
      const auto add = [&](int64_t lane, Lanes constants, Lanes& high, Lanes& low) HWY_ATTR {
        add_terms(constants, hn::Mul(hn::LoadU(d, values + lane), elements(lane)), high, low);
      };
      add(first_lane, constants0, high0, low0);
      if constexpr (Registers > 1) add(first_lane + n, constants1, high1, low1);
      if constexpr (Registers > 2) {
        add(first_lane + 2 * n, constants2, high2, low2);
        add(first_lane + 3 * n, constants3, high3, low3);
      }
    });
    const auto end = [&](int64_t lane, Lanes high, Lanes low) HWY_ATTR {
      hn::StoreU(hn::Sub(high, hn::Mul(bounds_from(lane), high_factor)), d, sums.high + lane);
      hn::StoreU(low, d, sums.low + lane);
    };
    end(first_lane, high0, low0);
    if constexpr (Registers > 1) end(first_lane + n, high1, low1);
    if constexpr (Registers > 2) {
      end(first_lane + 2 * n, high2, low2);
      end(first_lane + 3 * n, high3, low3);
    }
  }

  static HWY_INLINE void store(const ChunkRows& rows, const ChunkSums& sums, const RowSellVectors& vectors) {
    store_rows(rows, sums.high, vectors.q);
    store_rows(rows, sums.low, vectors.q_low);
  }
};

RowSellLoop loop_for(InstructionSet set) { return row_sell_loop_of<Form>(set); }

}  // namespace exact_row_sell
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cg2d::kernels {

RowSellLoop exact_row_sell_loop(InstructionSet set) { return CG2D_OF_SET(set, exact_row_sell::loop_for); }

}  // namespace cg2d::kernels
#endif
