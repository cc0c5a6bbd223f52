// Products with a block in the format of the kernel "sell" whose sums do not depend on order (exact_sums.hpp). A row's sum is under
// way from column block to column block: q holds it with the constant with which it began, so a chunk takes both from one load.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/exact_sell.cpp"
#include <hwy/foreach_target.h>

#include "kernels/exact_vectors-inl.hpp"
#include "kernels/sell_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace exact_sell {

using Lanes = VectorOf<SellLanes>;

/// The constants of all lanes for the low parts. SplitConstants::low belongs to the binade in which a sum stays. In the format of doubles
/// that is what is left without the fraction.
HWY_INLINE Lanes low_constants(Lanes high, double low_share) {
  const SellLanes d;
  const hn::Rebind<int64_t, SellLanes> of_bits;
  constexpr int64_t binade_bits = ~((int64_t{1} << 52) - 1);
  const auto binade = hn::BitCast(d, hn::And(hn::BitCast(of_bits, high), hn::Set(of_bits, binade_bits)));
  return hn::Mul(binade, hn::Set(d, low_share));
}

struct Form {
  static constexpr int most_registers = 2;  // each with two sums and a constant

  template <int Registers, typename Elements>
  static HWY_INLINE void multiply(const SellChunk& chunk, int64_t first_lane, const SellVectors& vectors) {
    const SellLanes d;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    const auto other = Registers > 1 ? n : 0;
    const double* values = chunk.values + first_lane;
    const uint16_t* columns = chunk.columns + first_lane;
    const uint16_t* rows = chunk.rows + first_lane;
    double* const q = vectors.q + chunk.window_row;
    double* const q_low = vectors.q_low + chunk.window_row;
    auto high0 = FewElements::load(d, q, rows);
    auto high1 = FewElements::load(d, q, rows + other);
    auto low0 = FewElements::load(d, q_low, rows);
    auto low1 = FewElements::load(d, q_low, rows + other);
    const auto constants0 = low_constants(high0, vectors.low_share);
    const auto constants1 = low_constants(high1, vectors.low_share);
    for (uint32_t step = 0; step < chunk.steps; ++step, values += sell_lanes, columns += sell_lanes) {
      prefetch_entries(values, columns, chunk.prefetch_distance);
      add_terms(constants0, hn::Mul(hn::LoadU(d, values), Elements::load(d, chunk.p, columns)), high0, low0);
      if constexpr (Registers > 1)
        add_terms(constants1, hn::Mul(hn::LoadU(d, values + n), Elements::load(d, chunk.p, columns + n)),
                  high1, low1);
    }
    double highs[sell_lanes];
    double lows[sell_lanes];
    hn::StoreU(high0, d, highs);
    hn::StoreU(low0, d, lows);
    if constexpr (Registers > 1) {
      hn::StoreU(high1, d, highs + n);
      hn::StoreU(low1, d, lows + n);
    }
    // The first lane last: lanes without a row repeat its row, and have sums to which nothing was added.
    for (auto lane = Registers * n - 1; lane >= 0; --lane) {
      q[rows[lane]] = highs[lane];
      q_low[rows[lane]] = lows[lane];
    }
  }
};

SellLoop loop_for(InstructionSet set) { return sell_loop_of<Form>(set); }

}  // namespace exact_sell
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cg2d::kernels {

SellLoop exact_sell_loop(InstructionSet set) { return CG2D_OF_SET(set, exact_sell::loop_for); }

}  // namespace cg2d::kernels
#endif
