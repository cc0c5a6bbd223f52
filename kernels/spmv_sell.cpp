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
  static HWY_INLINE void multiply(const SellChunk& chunk, int64_t first_lane, const SellVectors& vectors) {
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
      double* const window = vectors.q + chunk.window_row;
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
    double* const window = vectors.q + chunk.window_row;
    for (int64_t lane = 0; lane < Registers * n; ++lane) window[chunk.rows[first_lane + lane]] += sums[lane];
  }
};

SellLoop loop_for(InstructionSet set) { return sell_loop_of<Form>(set); }

}  // namespace sell
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <utility>

#include "kernels/exact_sums.hpp"
#include "kernels/loop_choice.hpp"
#include "kernels/parts_kernel.hpp"

namespace cg2d::kernels {
namespace {
namespace sell {

constexpr int default_block_width = 2048;
constexpr int64_t window_rows = 512;

// In entries: fetches 8 kB of values and 2 kB of columns before their use.
constexpr int default_prefetch_distance = 1024;

/// The sets with a loop here that this processor has.
std::vector<InstructionSet> instruction_sets() { return of_this_processor(all_instruction_sets); }

SellShape shape_for(const KernelOptions& options) {
  return {.lanes = sell_lanes,
          .block_width = options.tuning.block_width.value_or(default_block_width),
          .window_rows = window_rows};
}

InstructionSet preferred_instruction_set();

InstructionSet set_for(const KernelOptions& options) {
  return choose_instruction_set(options.instruction_set, instruction_sets(), preferred_instruction_set);
}

/// Adds the constants with which running sums begin, or takes them away: exactly. sign: 1 or -1.
void add_high_constants(double sign, std::span<const double> bounds, double p_bound, double* q) {
  for (const double bound : bounds) *q++ += sign * (SplitConstants::high_factor * (bound * p_bound));
}

/// Sums as usual, or reproducible where the options have most_terms.
class Kernel final : public PartsKernel<SellPart> {
 public:
  Kernel(const KernelOptions& options, std::vector<SellPart> parts, std::span<const double> row_bounds = {})
      : PartsKernel("sell", set_for(options), std::move(parts), row_bounds),
        loop_(options.most_terms > 0.0 ? exact_sell_loop(set_for(options))
                                       : CG2D_OF_SET(set_for(options), sell::loop_for)),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_prefetch_distance)),
        low_factor_(options.most_terms > 0.0 ? SplitConstants::low_factor(options.most_terms) : 0.0) {}

  /// A share is a share of the column blocks.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    on_each_part([&](const SellPart& part) {
      double* const q = operands.q_rows.data() + part.first_row;
      const auto bounds = low_factor_ > 0.0 ? std::span(row_bounds())
                                                  .subspan(static_cast<size_t>(part.first_row),
                                                           static_cast<size_t>(part.row_count))
                                            : std::span<const double>();
      if (mode.share == 0) {
        if (!mode.is_added) std::fill_n(q, part.row_count, 0.0);
        if (!mode.is_added && low_factor_ > 0.0)
          std::fill_n(operands.q_rows_low.data() + part.first_row, part.row_count, 0.0);
        add_high_constants(1.0, bounds, operands.p_bound, q);
      }
      const ShareRange blocks(part.block_count, mode);
      loop_({.part = part,
             .first_block = blocks.begin,
             .last_block = blocks.end,
             .prefetch_distance = prefetch_distance_},
            {.p = operands.p_columns.data(),
             .q = operands.q_rows.data(),
             .q_low = operands.q_rows_low.data(),
             .low_share = low_factor_ / SplitConstants::high_binade});
      if (mode.share == mode.share_count - 1) add_high_constants(-1.0, bounds, operands.p_bound, q);
    });
  }

 private:
  SellLoop loop_;
  int64_t prefetch_distance_;
  double low_factor_;  // SplitConstants::low_factor(); 0: sums as usual
};

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  return std::make_unique<Kernel>(options, sell_parts(block, options.thread_count, shape_for(options)),
                                  row_bounds_for(block, options));
}

std::unique_ptr<SpmvKernel> make_external(const ExternalArrays& block, const KernelOptions& options) {
  return std::make_unique<Kernel>(options, external_sell_parts(block, shape_for(options)));
}

InstructionSet preferred_instruction_set() {
  static const auto fastest = fastest_loop(make, instruction_sets(), fastest_gathering_instruction_set());
  return fastest;
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
      .defaults = {.prefetch_distance = sell::default_prefetch_distance,
                   .block_width = sell::default_block_width},
      .instruction_sets = sell::instruction_sets(),
      .preferred_instruction_set = sell::preferred_instruction_set,
      .make = sell::make,
      .makes_reproducible = true,
      .make_external = sell::make_external,
      .is_default_for_reproducible = true,
  };
}

}  // namespace cg2d::kernels
#endif
