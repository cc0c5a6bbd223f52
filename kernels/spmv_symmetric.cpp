// Kernel "symmetric": SELL-8-2048 in column blocks with half storage; 10 bytes for two nonzeros. A step
// multiplies one entry of each of 8 rows. It adds to the sums of the rows, which are in registers, and to q
// over the columns, which is in memory: there it adds one lane after the other, since two lanes may have the
// same column. The column block's parts of p and q lie side by side, element by element, so that one cache
// line serves both.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmv_symmetric.cpp"
#include <hwy/foreach_target.h>

#include "kernels/symmetric_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace symmetric {

// Takes the lanes in pairs. Variants on Zen 4, 2026-11, ns per nonzero of classes A and B:
//   lanes in pairs                                                  0.338  0.410
//   single lanes                                                    0.36   0.41
//   single lanes, value times (p, q) in one register                0.36   0.42
//   p and q in vectors of their own, so that blocks are narrower    0.32   0.43   (2048 columns)
//   step counts known at compile time                               no gain
struct Form {
  using Two = hn::CappedTag<double, 2>;
  using TwoLanes = VectorOf<Two>;

  /// Multiplies two lanes, whose values, elements of p and products are in one register each. Their sums for q go one after the other,
  /// since both may have the same column.
  static HWY_INLINE void multiply_two(const double* values, ColumnPair& first, ColumnPair& second,
                                      TwoLanes p_rows, TwoLanes& sums) {
    const Two d;
    const auto both = hn::LoadU(d, values);
    sums = hn::MulAdd(both, two_lanes(d, first.p, second.p), sums);
    const auto mirrored = hn::Mul(both, p_rows);
    first.q += hn::GetLane(mirrored);
    second.q += hn::ExtractLane(mirrored, 1);
  }

  static HWY_INLINE void multiply(const SymmetricChunk& chunk) {
    using symmetric_sell::lanes;
    const Two d;
    const double* values = chunk.values;
    const uint16_t* columns = chunk.columns;
    ColumnPair* const pairs = chunk.pairs;
    const auto rows01 = FewElements::load(d, chunk.p_rows, chunk.rows);
    const auto rows23 = FewElements::load(d, chunk.p_rows, chunk.rows + 2);
    const auto rows45 = FewElements::load(d, chunk.p_rows, chunk.rows + 4);
    const auto rows67 = FewElements::load(d, chunk.p_rows, chunk.rows + 6);
    auto sums01 = hn::Zero(d);
    auto sums23 = hn::Zero(d);
    auto sums45 = hn::Zero(d);
    auto sums67 = hn::Zero(d);
    for (uint32_t step = chunk.steps; step > 0; --step, values += lanes, columns += lanes) {
      prefetch_entries(values, columns, chunk.prefetch_distance);
      const FourColumns low(columns);
      const FourColumns high(columns + 4);
      multiply_two(values, pairs[low.at(0)], pairs[low.at(1)], rows01, sums01);
      multiply_two(values + 2, pairs[low.at(2)], pairs[low.at(3)], rows23, sums23);
      multiply_two(values + 4, pairs[high.at(0)], pairs[high.at(1)], rows45, sums45);
      multiply_two(values + 6, pairs[high.at(2)], pairs[high.at(3)], rows67, sums67);
    }
    hn::StoreU(sums01, d, chunk.row_sums);
    hn::StoreU(sums23, d, chunk.row_sums + 2);
    hn::StoreU(sums45, d, chunk.row_sums + 4);
    hn::StoreU(sums67, d, chunk.row_sums + 6);
  }
};

symmetric_sell::PartLoop loop_for(InstructionSet /*set*/) { return &multiply_symmetric<Form>; }

}  // namespace symmetric
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>
#include <utility>

#include "kernels/several_vectors.hpp"

namespace cg2d::kernels {
namespace {
namespace symmetric {

using symmetric_sell::Kernel;
using symmetric_sell::lanes;
using symmetric_sell::Loop;

constexpr int default_block_width = 8192;
constexpr int64_t window_rows = 2048;

/// The sets with a loop here that this processor has.
std::vector<InstructionSet> instruction_sets() {
  constexpr std::array sets{InstructionSet::portable, InstructionSet::fma};
  return of_this_processor(sets);
}

InstructionSet preferred_instruction_set() { return instruction_sets().back(); }

template <typename Block>
std::unique_ptr<SpmvKernel> kernel_of(const Block& block, const KernelOptions& options) {
  const auto set =
      choose_instruction_set(options.instruction_set, instruction_sets(), preferred_instruction_set);
  const Loop loop{.multiply = CG2D_OF_SET(set, symmetric::loop_for),
                  .shape = {.lanes = lanes,
                            .block_width = options.tuning.block_width.value_or(default_block_width),
                            .window_rows = window_rows,
                            .has_positions = true}};
  return std::make_unique<Kernel>("symmetric", set, loop, block, options);
}

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  const CsrBlock taken = std::move(block);  // given back when the format is made
  return kernel_of(taken, options);
}

}  // namespace symmetric
}  // namespace

KernelRow symmetric_kernel() {
  return {
      .name = "symmetric",
      .description =
          "symmetric storage: one entry of each mirrored pair; SELL-8-2048 in column blocks, 16-bit columns",
      .storage_text = mirrored_pairs_text,
      .storage = Storage::half,
      .is_default = true,
      .is_tried = true,
      .bytes_per_nonzero = 5.25,
      .converts = true,
      .defaults = {.prefetch_distance = symmetric_sell::default_prefetch_distance,
                   .block_width = symmetric::default_block_width},
      .instruction_sets = symmetric::instruction_sets(),
      .preferred_instruction_set = symmetric::preferred_instruction_set,
      .make = symmetric::make,
      .make_for_several = &make_several_symmetric,
      .make_external = symmetric::kernel_of<ExternalArrays>,
      .make_several_external = &make_several_symmetric_external,
      .panel_rows = symmetric::window_rows,
      .most_panel_rows = symmetric_sell::band_sizes.most_rows_of_one,
  };
}

}  // namespace cg2d::kernels
#endif
