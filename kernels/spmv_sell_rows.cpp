// Kernel "sell-rows": SELL-8-256 over whole rows, with vector loads where the columns of eight rows follow each other.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmv_sell_rows.cpp"
#include <hwy/foreach_target.h>

#include "kernels/row_sell_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace sell_rows {

struct Form {
  static constexpr int most_registers = 4;

  template <int Registers>
  static HWY_INLINE void multiply(const RowChunk& chunk, const RowSellCursor& at, const ChunkRows& /*rows*/,
                                  int64_t first_lane, const RowSellOperands& operands, ChunkSums& sums) {
    const RowSellLanes d;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    auto sum0 = hn::Zero(d);
    [[maybe_unused]] auto sum1 = hn::Zero(d);
    [[maybe_unused]] auto sum2 = hn::Zero(d);
    [[maybe_unused]] auto sum3 = hn::Zero(d);
    for_each_step(chunk, at, operands.p, [&](const double* values, auto elements) HWY_ATTR {
      const auto add = [&](int64_t lane, VectorOf<RowSellLanes>& sum)
                           HWY_ATTR { sum = hn::MulAdd(hn::LoadU(d, values + lane), elements(lane), sum); };
      add(first_lane, sum0);
      if constexpr (Registers > 1) add(first_lane + n, sum1);
      if constexpr (Registers > 2) {
        add(first_lane + 2 * n, sum2);
        add(first_lane + 3 * n, sum3);
      }
    });
    double* const stored = sums.high + first_lane;
    hn::StoreU(sum0, d, stored);
    if constexpr (Registers > 1) hn::StoreU(sum1, d, stored + n);
    if constexpr (Registers > 2) {
      hn::StoreU(sum2, d, stored + 2 * n);
      hn::StoreU(sum3, d, stored + 3 * n);
    }
  }

  static HWY_INLINE void store(const ChunkRows& rows, const ChunkSums& sums,
                               const RowSellOperands& operands) {
    store_rows(rows, sums.high, operands.q);
  }
};

RowSellLoop loop_for(InstructionSet set) { return row_sell_loop_of<Form>(set); }

}  // namespace sell_rows
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>

#include "kernels/exact_sums.hpp"
#include "kernels/format_kernel.hpp"
#include "kernels/sell_kernel.hpp"

namespace cg2d::kernels {
namespace {
namespace sell_rows {

constexpr std::array sets{InstructionSet::portable, InstructionSet::fma, InstructionSet::avx512,
                          InstructionSet::sve};

/// Sums as usual, or reproducible where the options have most_terms.
class Kernel final : public FormatKernel<Parts<RowSellPart>> {
 public:
  Kernel(const CsrBlock& block, const KernelOptions& options)
      : FormatKernel("sell-rows", options, {row_sell_parts(block, options.thread_count)}),
        loop_(options.most_terms > 0.0 ? exact_row_sell_loop(*options.instruction_set)
                                       : CG2D_OF_SET(*options.instruction_set, sell_rows::loop_for)),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_sell_prefetch_distance)),
        low_factor_(SplitConstants::low_factor(options.most_terms)) {}

  /// A share is a share of the windows.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    on_each_thread([&](int thread) {
      const auto& part = format()[thread];
      const ShareRange windows(part.window_count(), mode);
      loop_({.part = part,
             .first_window = windows.begin,
             .last_window = windows.end,
             .prefetch_distance = prefetch_distance_,
             .are_added = mode.is_added,
             .p = operands.p_columns.data(),
             .q = operands.q_rows.data(),
             .q_low = operands.q_rows_low.data(),
             .row_bounds = row_bounds().data(),
             .p_bound = operands.p_bound,
             .low_factor = low_factor_});
    });
  }

 private:
  RowSellLoop loop_;
  int64_t prefetch_distance_;
  double low_factor_;  // of reproducible sums
};

}  // namespace sell_rows
}  // namespace

KernelRow sell_rows_kernel() {
  return {
      .name = "sell-rows",
      .description =
          "SELL-8-256 over whole rows: vector loads where the columns of 8 rows follow each other, else "
          "columns of "
          "16 or 32 bits",
      .is_tried = true,
      .suits_any_pattern = true,
      .bytes_per_nonzero = 10.5,
      .converts = true,
      .defaults = {.prefetch_distance = default_sell_prefetch_distance},
      .instruction_sets = of_this_processor(sell_rows::sets),
      .maker = [](CsrBlock block, const KernelOptions& options) -> std::unique_ptr<SpmvKernel> {
        return std::make_unique<sell_rows::Kernel>(block, options);
      },
      .makes_reproducible = true,
  };
}

}  // namespace cg2d::kernels
#endif
