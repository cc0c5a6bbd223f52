// Kernel "symmetric-distinct": SELL-8-1024 in column blocks with half storage, in which lanes that are
// multiplied at once never have the same column. So their sums over the columns are loaded, added to and
// stored at once: two lanes per register, or all eight by gathers and scatters.

#include <array>
#include <cstring>
#include <utility>

#include "kernels/loop_choice.hpp"
#include "kernels/symmetric_sell.hpp"

namespace cg2d::kernels {
namespace {
namespace symmetric_distinct {

using symmetric_sell::add_window;
using symmetric_sell::Chunk;
using symmetric_sell::ColumnPair;
using symmetric_sell::Kernel;
using symmetric_sell::lanes;
using symmetric_sell::load_pairs;
using symmetric_sell::Loop;
using symmetric_sell::PartBlocks;
using symmetric_sell::PartOperands;
using symmetric_sell::store_sums;

constexpr int default_block_width = 2048;
constexpr int widest_block = 1 << 14;
constexpr std::int64_t window_rows = 1024;

inline __attribute__((always_inline)) void multiply_chunk_portable(const Chunk& chunk) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  double p_rows[lanes];
  double sums[lanes] = {};
  for (std::int64_t lane = 0; lane < lanes; ++lane) p_rows[lane] = chunk.p_rows[chunk.rows[lane]];
  for (std::uint32_t step = chunk.steps; step > 0; --step, values += lanes, columns += lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      ColumnPair& pair = chunk.pairs[columns[lane]];
      sums[lane] += values[lane] * pair.p;
      pair.q += values[lane] * p_rows[lane];
    }
  }
  std::copy_n(sums, lanes, chunk.row_sums);
}
CG2D_SYMMETRIC_LOOP(multiply_portable, , multiply_chunk_portable, add_window)

#if defined(__x86_64__)
/// The column pair of the 16-bit column number `Place` in a word.
template <int Place>
inline __attribute__((always_inline)) double* pair_at(ColumnPair* pairs, std::uint64_t word) {
  return &pairs[column_at<Place>(word)].p;
}

/// (0, p of the row, 0, p of the other row).
CG2D_AVX2 inline __attribute__((always_inline)) __m256d two_rows(const double* p, std::size_t row,
                                                                 std::size_t other_row) {
  const __m128d zero = _mm_setzero_pd();
  return _mm256_set_m128d(_mm_loadh_pd(zero, p + other_row), _mm_loadh_pd(zero, p + row));
}

/// Multiplies two lanes. `values` holds each one's value twice, so that one multiply-add serves their row sums
/// (the lower halves of `sums`; the upper ones are of no use) and one the sums over the columns.
CG2D_AVX2 inline __attribute__((always_inline)) void multiply_two_lanes(__m256d values, double* pair,
                                                                        double* other_pair, __m256d rows,
                                                                        __m256d& sums) {
  __m256d pairs = _mm256_set_m128d(_mm_load_pd(other_pair), _mm_load_pd(pair));
  asm("" : "+x"(pairs));  // keeps gcc from loading the pairs once more for the other multiply-add
  sums = _mm256_fmadd_pd(values, pairs, sums);
  pairs = _mm256_fmadd_pd(values, rows, pairs);
  _mm_store_pd(pair, _mm256_castpd256_pd128(pairs));
  _mm_store_pd(other_pair, _mm256_extractf128_pd(pairs, 1));
}

// ns per nonzero of classes S, A and B, one thread, Zen 5, 2026-11: 0.195 0.217 0.28; with gathers and scatters
// (the loop for avx512) 0.65 (A) 0.69 (B). In the first-level cache a step takes 8.9 clocks, one for each store;
// 7.5 without stores. Column numbers as byte offsets, loaded one by one or by bit extraction: no gain.
CG2D_AVX2 inline __attribute__((always_inline)) void multiply_chunk_avx2(const Chunk& chunk) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  ColumnPair* pairs = chunk.pairs;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::memcpy(&low, chunk.rows, sizeof(low));
  std::memcpy(&high, chunk.rows + 4, sizeof(high));
  const __m256d rows02 = two_rows(chunk.p_rows, column_at<0>(low), column_at<2>(low));
  const __m256d rows13 = two_rows(chunk.p_rows, column_at<1>(low), column_at<3>(low));
  const __m256d rows46 = two_rows(chunk.p_rows, column_at<0>(high), column_at<2>(high));
  const __m256d rows57 = two_rows(chunk.p_rows, column_at<1>(high), column_at<3>(high));
  __m256d sums02 = _mm256_setzero_pd();
  __m256d sums13 = _mm256_setzero_pd();
  __m256d sums46 = _mm256_setzero_pd();
  __m256d sums57 = _mm256_setzero_pd();
  for (std::uint32_t step = chunk.steps; step > 0; --step, values += lanes, columns += lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    std::memcpy(&low, columns, sizeof(low));
    std::memcpy(&high, columns + 4, sizeof(high));
    const __m256d first = _mm256_loadu_pd(values);
    multiply_two_lanes(_mm256_movedup_pd(first), pair_at<0>(pairs, low), pair_at<2>(pairs, low), rows02,
                       sums02);
    multiply_two_lanes(_mm256_permute_pd(first, 0xf), pair_at<1>(pairs, low), pair_at<3>(pairs, low), rows13,
                       sums13);
    const __m256d second = _mm256_loadu_pd(values + 4);
    multiply_two_lanes(_mm256_movedup_pd(second), pair_at<0>(pairs, high), pair_at<2>(pairs, high), rows46,
                       sums46);
    multiply_two_lanes(_mm256_permute_pd(second, 0xf), pair_at<1>(pairs, high), pair_at<3>(pairs, high),
                       rows57, sums57);
  }
  _mm256_storeu_pd(chunk.row_sums, _mm256_unpacklo_pd(sums02, sums13));
  _mm256_storeu_pd(chunk.row_sums + 4, _mm256_unpacklo_pd(sums46, sums57));
}
CG2D_SYMMETRIC_LOOP(multiply_avx2, CG2D_AVX2, multiply_chunk_avx2, symmetric_sell::add_window_by_fours)

CG2D_AVX512 inline __attribute__((always_inline)) void multiply_chunk_avx512(const Chunk& chunk) {
  constexpr __mmask8 all_lanes = 0xff;
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  double* p = &chunk.pairs->p;
  double* q = &chunk.pairs->q;
  const __m128i rows = _mm_loadu_si128(reinterpret_cast<const __m128i*>(chunk.rows));
  const __m512d p_rows = gather_avx512(chunk.p_rows, _mm256_cvtepu16_epi32(rows), all_lanes);
  __m512d sums = _mm512_setzero_pd();
  for (std::uint32_t step = chunk.steps; step > 0; --step, values += lanes, columns += lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    const __m256i column = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(columns)));
    const __m256i pair = _mm256_slli_epi32(column, 1);
    const __m512d value = _mm512_loadu_pd(values);
    sums = _mm512_fmadd_pd(value, gather_avx512(p, pair, all_lanes), sums);
    const __m512d q_columns = gather_avx512(q, pair, all_lanes);
    _mm512_mask_i32scatter_pd(q, all_lanes, pair, _mm512_fmadd_pd(value, p_rows, q_columns), sizeof(double));
  }
  _mm512_storeu_pd(chunk.row_sums, sums);
}
CG2D_SYMMETRIC_LOOP(multiply_avx512, CG2D_AVX512, multiply_chunk_avx512, symmetric_sell::add_window_by_fours)
#endif

/// The sets with a loop here that this processor has.
std::vector<InstructionSet> instruction_sets() {
  constexpr std::array sets{InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512};
  return of_this_processor(sets);
}

Loop loop_for(InstructionSet set, const Tuning& tuning) {
  SellShape shape{.lanes = lanes,
                  .block_width = std::min(tuning.block_width.value_or(default_block_width), widest_block),
                  .window_rows = window_rows,
                  .distinct = DistinctLanes::all,
                  .has_positions = true};
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return {.multiply = &multiply_avx512, .shape = shape};
  shape.distinct = DistinctLanes::pairs;
  if (set == InstructionSet::avx2) return {.multiply = &multiply_avx2, .shape = shape};
#endif
  static_cast<void>(set);
  return {.multiply = &multiply_portable, .shape = shape};
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
      .storage = Storage::half,
      .is_default = widest_instruction_set() != InstructionSet::portable,
      .is_tried = widest_instruction_set() != InstructionSet::portable,
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
