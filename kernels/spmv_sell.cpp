// Kernel "sell": SELL-8-512 in column blocks with 16-bit columns. 10 bytes per nonzero instead of 12, the
// operand in the first-level cache, and rows as lanes, so that short rows cost no more than long ones.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmv_sell.cpp"
#include <hwy/foreach_target.h>

#include "kernels/sell_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace sell {

struct Form {
  static constexpr int most_registers = 4;

  template <int Registers, typename Elements>
  static HWY_INLINE void multiply(const SellChunk& chunk, int64_t first_lane, const SellOperands& operands) {
    const SellLanes d;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    const double* values = chunk.values + first_lane;
    const uint16_t* columns = chunk.columns + first_lane;
    auto sum0 = hn::Zero(d);
    [[maybe_unused]] auto sum1 = hn::Zero(d);
    [[maybe_unused]] auto sum2 = hn::Zero(d);
    [[maybe_unused]] auto sum3 = hn::Zero(d);
    const auto add = [&](int64_t lane, VectorOf<SellLanes>& sum) HWY_ATTR {
      sum = hn::MulAdd(hn::LoadU(d, values + lane), Elements::load(d, chunk.p, columns + lane), sum);
    };
    uint32_t step = 0;
#if HWY_HAVE_SCALABLE
    // Four steps are four cache lines of values and one of columns: with SVE of 512 bits 7 instructions a step, not 10.
    for (; step + 4 <= chunk.steps; step += 4, values += 4 * sell_lanes, columns += 4 * sell_lanes) {
      prefetch(columns, chunk.prefetch_distance);
#pragma GCC unroll 4
      for (int64_t place = 0; place < 4 * sell_lanes; place += sell_lanes) {
        prefetch(values + place, chunk.prefetch_distance);
        add(place, sum0);
        if constexpr (Registers > 1) add(place + n, sum1);
        if constexpr (Registers > 2) {
          add(place + 2 * n, sum2);
          add(place + 3 * n, sum3);
        }
      }
    }
#endif
    for (; step < chunk.steps; ++step, values += sell_lanes, columns += sell_lanes) {
      prefetch_entries(values, columns, chunk.prefetch_distance);
      add(0, sum0);
      if constexpr (Registers > 1) add(n, sum1);
      if constexpr (Registers > 2) {
        add(2 * n, sum2);
        add(3 * n, sum3);
      }
    }
#if HWY_HAVE_SCALABLE
    // Lanes without a row repeat the first lane's row, so that the last one tells whether there is any.
    if (chunk.rows[sell_lanes - 1] != chunk.rows[0]) {
      double* const window = operands.q_rows + chunk.window_row;
      const auto add_to_rows = [&](int64_t lane, VectorOf<SellLanes> sum) HWY_ATTR {
        const auto places = Elements::places(d, chunk.rows + first_lane + lane);
        Elements::scatter(d, hn::Add(Elements::at(d, window, places), sum), window, places);
      };
      add_to_rows(0, sum0);
      if constexpr (Registers > 1) add_to_rows(n, sum1);
      if constexpr (Registers > 2) {
        add_to_rows(2 * n, sum2);
        add_to_rows(3 * n, sum3);
      }
      return;
    }
#endif
    double sums[sell_lanes];
    hn::StoreU(sum0, d, sums);
    if constexpr (Registers > 1) hn::StoreU(sum1, d, sums + n);
    if constexpr (Registers > 2) {
      hn::StoreU(sum2, d, sums + 2 * n);
      hn::StoreU(sum3, d, sums + 3 * n);
    }
    // One lane after the other, since lanes without a row repeat the first lane's row.
    double* const window = operands.q_rows + chunk.window_row;
    for (int64_t lane = 0; lane < Registers * n; ++lane) window[chunk.rows[first_lane + lane]] += sums[lane];
  }
};

SellLoop loop_for(InstructionSet set) { return sell_loop_of<Form>(set); }

}  // namespace sell
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace cg2d::kernels {
namespace {
namespace sell {

constexpr int default_block_width = 2048;
constexpr int64_t window_rows = 512;

/// Sums as usual, or reproducible where the options have most_terms.
SellForm form_for(const KernelOptions& options) {
  const auto set = *options.instruction_set;
  return {.name = "sell",
          .shape = {.block_width = options.tuning.block_width.value_or(default_block_width),
                    .window_rows = window_rows},
          .loop = options.most_terms > 0.0 ? exact_sell_loop(set) : CG2D_OF_SET(set, sell::loop_for)};
}

}  // namespace sell
}  // namespace

KernelRow sell_kernel() {
  return {
      .name = "sell",
      .description =
          "SELL-8-512 in column blocks, 16-bit columns: rows as lanes, the operand in the first-level cache",
      .is_default = true,
      .is_tried = true,
      .bytes_per_nonzero = 10.5,
      .converts = true,
      .windows = sell_windows(sell::window_rows),
      .defaults = {.prefetch_distance = default_sell_prefetch_distance,
                   .block_width = sell::default_block_width},
      .instruction_sets = of_this_processor(all_instruction_sets),
      .measured_instruction_set = measured_set<make_sell<sell::form_for>, all_instruction_sets>,
      .maker = make_sell<sell::form_for>,
      .makes_reproducible = true,
      .external_maker = make_external_sell<sell::form_for>,
      .is_default_for_reproducible = true,
  };
}

}  // namespace cg2d::kernels
#endif
