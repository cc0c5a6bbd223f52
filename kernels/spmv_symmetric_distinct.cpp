// Kernel "symmetric-distinct": SELL-8-1024 in column blocks with half storage, in which lanes that are
// multiplied at once never have the same column. So their sums over the columns are loaded, added to and
// stored at once: two lanes per register, or all of a register by gathers and scatters.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmv_symmetric_distinct.cpp"
#include <hwy/foreach_target.h>

#include "kernels/symmetric_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace symmetric_distinct {

using symmetric_sell::lanes;

#if HWY_TARGET == HWY_AVX3 || HWY_HAVE_SCALABLE
/// As many lanes as a register has, by gathers and scatters.
struct Form {
  static constexpr auto distinct = DistinctLanes::all;

  static HWY_INLINE void multiply(const SymmetricChunk& chunk) {
    const hn::CappedTag<double, lanes> d;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    double* const p = &chunk.pairs->p;
    double* const q = &chunk.pairs->q;
    for (int64_t lane = 0; lane < lanes; lane += n) {
      const double* values = chunk.values + lane;
      const uint16_t* columns = chunk.columns + lane;
      const auto p_rows = Gathers::load(d, chunk.p_rows, chunk.rows + lane);
      auto sums = hn::Zero(d);
      for (uint32_t step = chunk.steps; step > 0; --step, values += lanes, columns += lanes) {
        prefetch_entries(values, columns, chunk.prefetch_distance);
        const auto pair = hn::ShiftLeft<1>(Gathers::places(d, columns));
        const auto value = hn::LoadU(d, values);
        sums = hn::MulAdd(value, Gathers::at(d, p, pair), sums);
        Gathers::scatter(d, hn::MulAdd(value, p_rows, Gathers::at(d, q, pair)), q, pair);
      }
      hn::StoreU(sums, d, chunk.row_sums + lane);
    }
  }
};
#else
/// One column pair in each half of a register of four lanes, or one in a register of two.
///
/// ns per nonzero of classes S, A and B, one thread, four lanes, Zen 5, 2026-11: 0.195 0.217 0.28; with gathers and scatters 0.65 (A) 0.69
/// (B). In the first-level cache a step takes 8.9 clocks, one for each store; 7.5 without stores. Column numbers as byte offsets, loaded
/// one by one or by bit extraction: no gain.
struct Form {
  static constexpr auto distinct = DistinctLanes::pairs;

  using Pairs = hn::CappedTag<double, 4>;
  using PairsVector = VectorOf<Pairs>;
  static constexpr int64_t lanes_of_two =
      hn::MaxLanes(Pairs());  // in a register of even lanes and one of odd ones
  static constexpr int64_t register_count = lanes / lanes_of_two;

  /// The pairs of a lane, and of the next but one where a register has room for both.
  static HWY_INLINE PairsVector load(const double* pair, [[maybe_unused]] const double* other_pair) {
    const Pairs d;
#if HWY_MAX_BYTES == 16
    return hn::Load(d, pair);
#else
    const hn::Half<Pairs> half;
    return hn::Combine(d, hn::Load(half, other_pair), hn::Load(half, pair));
#endif
  }

  /// Multiplies a lane and the next but one. `values` holds each one's value twice, so that one multiply-add serves their row sums (the
  /// lower lanes of `sums`; the upper ones are of no use) and one the sums over the columns. rows: zeros, and p of the rows.
  static HWY_INLINE void multiply_two(PairsVector values, double* pair, [[maybe_unused]] double* other_pair,
                                      PairsVector rows, PairsVector& sums) {
    auto pairs = load(pair, other_pair);
#if HWY_TARGET == HWY_AVX2
    asm("" : "+x"(pairs.raw));  // keeps gcc from loading the pairs once more for the other multiply-add
#endif
    sums = hn::MulAdd(values, pairs, sums);
    pairs = hn::MulAdd(values, rows, pairs);
#if HWY_MAX_BYTES == 16
    hn::Store(pairs, Pairs(), pair);
#else
    const hn::Half<Pairs> half;
    hn::Store(hn::LowerHalf(half, pairs), half, pair);
    hn::Store(hn::UpperHalf(half, pairs), half, other_pair);
#endif
  }

  static HWY_INLINE void multiply(const SymmetricChunk& chunk) {
    const Pairs d;
    constexpr int64_t next = lanes_of_two == 4 ? 2 : 0;  // from a lane to the other one in its register
    const double* values = chunk.values;
    const uint16_t* columns = chunk.columns;
    PairsVector even_rows[register_count];
    PairsVector odd_rows[register_count];
    PairsVector even_sums[register_count];
    PairsVector odd_sums[register_count];
    const auto row_of = [&](int64_t lane) HWY_ATTR {
      return two_lanes(hn::CappedTag<double, 2>(), 0.0, chunk.p_rows[chunk.rows[lane]]);
    };
    const auto rows_of = [&](int64_t lane) HWY_ATTR {
#if HWY_MAX_BYTES == 16
      return row_of(lane);
#else
      return hn::Combine(d, row_of(lane + next), row_of(lane));
#endif
    };
#pragma GCC unroll 4
    for (int64_t k = 0; k < register_count; ++k) {
      even_rows[k] = rows_of(k * lanes_of_two);
      odd_rows[k] = rows_of(k * lanes_of_two + 1);
      even_sums[k] = odd_sums[k] = hn::Zero(d);
    }
    for (uint32_t step = chunk.steps; step > 0; --step, values += lanes, columns += lanes) {
      prefetch_entries(values, columns, chunk.prefetch_distance);
      const FourColumns low(columns);
      const FourColumns high(columns + 4);
      const auto pair_of = [&](int64_t lane) HWY_ATTR {
        return &chunk.pairs[lane < 4 ? low.at(lane) : high.at(lane - 4)].p;
      };
#pragma GCC unroll 4
      for (int64_t k = 0; k < register_count; ++k) {
        const auto lane = k * lanes_of_two;
        const auto both = hn::LoadU(d, values + lane);
        multiply_two(hn::DupEven(both), pair_of(lane), pair_of(lane + next), even_rows[k], even_sums[k]);
        multiply_two(hn::DupOdd(both), pair_of(lane + 1), pair_of(lane + 1 + next), odd_rows[k], odd_sums[k]);
      }
    }
#pragma GCC unroll 4
    for (int64_t k = 0; k < register_count; ++k)
      hn::StoreU(hn::InterleaveLower(d, even_sums[k], odd_sums[k]), d, chunk.row_sums + k * lanes_of_two);
  }
};
#endif

symmetric_sell::PartLoop loop_for(InstructionSet /*set*/) { return &multiply_symmetric<Form>; }
DistinctLanes distinct_for(InstructionSet /*set*/) { return Form::distinct; }

}  // namespace symmetric_distinct
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>
#include <utility>

#include "kernels/loop_choice.hpp"

namespace cg2d::kernels {
namespace {
namespace symmetric_distinct {

using symmetric_sell::Kernel;
using symmetric_sell::lanes;
using symmetric_sell::Loop;

constexpr int default_block_width = 2048;
constexpr int widest_block = 1 << 14;
constexpr int64_t window_rows = 1024;

/// The sets with a loop here that this processor has.
std::vector<InstructionSet> instruction_sets() {
  constexpr std::array sets{InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512,
                            InstructionSet::sve};
  return of_this_processor(sets);
}

Loop loop_for(InstructionSet set, const Tuning& tuning) {
  const SellShape shape{
      .lanes = lanes,
      .block_width = std::min(tuning.block_width.value_or(default_block_width), widest_block),
      .window_rows = window_rows,
      .distinct = CG2D_OF_SET(set, symmetric_distinct::distinct_for),
      .has_positions = true};
  return {.multiply = CG2D_OF_SET(set, symmetric_distinct::loop_for), .shape = shape};
}

InstructionSet preferred_instruction_set();

template <typename Block>
std::unique_ptr<SpmvKernel> kernel_of(const Block& block, const KernelOptions& options) {
  const auto set =
      choose_instruction_set(options.instruction_set, instruction_sets(), preferred_instruction_set);
  return std::make_unique<Kernel>("symmetric-distinct", set, loop_for(set, options.tuning), block, options);
}

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  const CsrBlock taken = std::move(block);  // given back when the format is made
  return kernel_of(taken, options);
}

/// Scatters are worse than gathers where those are slow.
InstructionSet preferred_instruction_set() {
  static const auto fastest = [] {
    const auto gathering = fastest_gathering_instruction_set();
    return fastest_loop(make, instruction_sets(),
                        gathering == InstructionSet::fma ? InstructionSet::avx2 : gathering);
  }();
  return fastest;
}

}  // namespace symmetric_distinct
}  // namespace

KernelRow symmetric_distinct_kernel() {
  return {
      .name = "symmetric-distinct",
      .description =
          "symmetric storage; SELL-8-1024 in column blocks, 16-bit columns, lanes with distinct columns",
      .storage_text = mirrored_pairs_text,
      .storage = Storage::half,
      .is_default = symmetric_distinct::instruction_sets().size() > 1,
      .is_tried = symmetric_distinct::instruction_sets().size() > 1,
      .bytes_per_nonzero = 5.6,
      .converts = true,
      .defaults = {.prefetch_distance = symmetric_sell::default_prefetch_distance,
                   .block_width = symmetric_distinct::default_block_width},
      .instruction_sets = symmetric_distinct::instruction_sets(),
      .preferred_instruction_set = symmetric_distinct::preferred_instruction_set,
      .make = symmetric_distinct::make,
      .make_external = symmetric_distinct::kernel_of<ExternalArrays>,
      .panel_rows = symmetric_distinct::window_rows,
      .most_panel_rows = symmetric_sell::band_sizes.most_rows_of_one,
      .format_depends_on_set = true,
  };
}

}  // namespace cg2d::kernels
#endif
