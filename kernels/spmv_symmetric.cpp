// Kernel "symmetric": SELL-8-2048 in column blocks with half storage; 10 bytes for two nonzeros. A step
// multiplies one entry of each of 8 rows. It adds to the sums of the rows, which are in registers, and to q
// over the columns, which is in memory: there it adds one lane after the other, since two lanes may have the
// same column. The column block's parts of p and q lie side by side, element by element, so that one cache
// line serves both.

#include <array>
#include <cstring>
#include <utility>

#include "kernels/several_vectors.hpp"
#include "kernels/symmetric_sell.hpp"

namespace cg2d::kernels {
namespace {
namespace symmetric {

using symmetric_sell::add_window;
using symmetric_sell::Chunk;
using symmetric_sell::ColumnPair;
using symmetric_sell::Kernel;
using symmetric_sell::lanes;
using symmetric_sell::load_pairs;
using symmetric_sell::Loop;
using symmetric_sell::PartBlocks;
using symmetric_sell::PartLoop;
using symmetric_sell::PartOperands;
using symmetric_sell::store_sums;

constexpr int default_block_width = 8192;
constexpr std::int64_t window_rows = 2048;

inline __attribute__((always_inline)) void multiply_lane(double value, double p_row, ColumnPair& pair,
                                                         double& sum) {
  sum += value * pair.p;
  pair.q += value * p_row;
}

inline __attribute__((always_inline)) void multiply_chunk_portable(const Chunk& chunk) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  double p_rows[lanes];
  double sums[lanes] = {};
  for (std::int64_t lane = 0; lane < lanes; ++lane) p_rows[lane] = chunk.p_rows[chunk.rows[lane]];
  for (std::uint32_t step = chunk.steps; step > 0; --step, values += lanes, columns += lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      multiply_lane(values[lane], p_rows[lane], chunk.pairs[columns[lane]], sums[lane]);
    }
  }
  std::copy_n(sums, lanes, chunk.row_sums);
}
CG2D_SYMMETRIC_LOOP(multiply_portable, , multiply_chunk_portable, add_window)

#if defined(__x86_64__)
/// The elements of p over the rows of two lanes, in one register.
CG2D_FMA inline __attribute__((always_inline)) __m128d two_rows(const Chunk& chunk, int lane) {
  return _mm_loadh_pd(_mm_load_sd(chunk.p_rows + chunk.rows[lane]), chunk.p_rows + chunk.rows[lane + 1]);
}

/// Multiplies two lanes, whose values, elements of p and products are in one register each. Their sums for q
/// go one after the other, since both may have the same column.
CG2D_FMA inline __attribute__((always_inline)) void multiply_two_lanes(const double* values,
                                                                       ColumnPair& first, ColumnPair& second,
                                                                       __m128d p_rows, __m128d& sums) {
  const __m128d both = _mm_loadu_pd(values);
  sums = _mm_fmadd_pd(both, _mm_loadh_pd(_mm_load_sd(&first.p), &second.p), sums);
  const __m128d mirrored = _mm_mul_pd(both, p_rows);
  _mm_store_sd(&first.q, _mm_add_sd(mirrored, _mm_load_sd(&first.q)));
  _mm_store_sd(&second.q, _mm_add_sd(_mm_unpackhi_pd(mirrored, mirrored), _mm_load_sd(&second.q)));
}

// Takes the lanes in pairs. Variants on Zen 4, 2026-11, ns per nonzero of classes A and B:
//   lanes in pairs                                                  0.338  0.410
//   single lanes                                                    0.36   0.41
//   single lanes, value times (p, q) in one register                0.36   0.42
//   p and q in vectors of their own, so that blocks are narrower    0.32   0.43   (2048 columns)
//   step counts known at compile time                               no gain
CG2D_FMA inline __attribute__((always_inline)) void multiply_chunk_fma(const Chunk& chunk) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  ColumnPair* pairs = chunk.pairs;
  const __m128d rows01 = two_rows(chunk, 0);
  const __m128d rows23 = two_rows(chunk, 2);
  const __m128d rows45 = two_rows(chunk, 4);
  const __m128d rows67 = two_rows(chunk, 6);
  __m128d sums01 = _mm_setzero_pd();
  __m128d sums23 = _mm_setzero_pd();
  __m128d sums45 = _mm_setzero_pd();
  __m128d sums67 = _mm_setzero_pd();
  for (std::uint32_t step = chunk.steps; step > 0; --step, values += lanes, columns += lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::memcpy(&low, columns, sizeof(low));
    std::memcpy(&high, columns + 4, sizeof(high));
    multiply_two_lanes(values, pairs[column_at<0>(low)], pairs[column_at<1>(low)], rows01, sums01);
    multiply_two_lanes(values + 2, pairs[column_at<2>(low)], pairs[column_at<3>(low)], rows23, sums23);
    multiply_two_lanes(values + 4, pairs[column_at<0>(high)], pairs[column_at<1>(high)], rows45, sums45);
    multiply_two_lanes(values + 6, pairs[column_at<2>(high)], pairs[column_at<3>(high)], rows67, sums67);
  }
  _mm_storeu_pd(chunk.row_sums, sums01);
  _mm_storeu_pd(chunk.row_sums + 2, sums23);
  _mm_storeu_pd(chunk.row_sums + 4, sums45);
  _mm_storeu_pd(chunk.row_sums + 6, sums67);
}
CG2D_SYMMETRIC_LOOP(multiply_fma, CG2D_FMA, multiply_chunk_fma, symmetric_sell::add_window_by_fours)
#endif

/// The sets with a loop here that this processor has.
std::vector<InstructionSet> instruction_sets() {
  constexpr std::array sets{InstructionSet::portable, InstructionSet::fma};
  return of_this_processor(sets);
}

PartLoop loop_for(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::fma) return &multiply_fma;
#endif
  static_cast<void>(set);
  return &multiply_portable;
}

InstructionSet preferred_instruction_set() { return instruction_sets().back(); }

template <typename Block>
std::unique_ptr<SpmvKernel> kernel_of(const Block& block, const KernelOptions& options) {
  const auto set =
      choose_instruction_set(options.instruction_set, instruction_sets(), preferred_instruction_set);
  const Loop loop{.multiply = loop_for(set),
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
