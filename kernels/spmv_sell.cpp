// Kernel "sell": SELL-8-512 in column blocks with 16-bit columns. 10 bytes per nonzero instead of 12, the
// operand in the first-level cache, and rows as lanes, so that short rows cost no more than long ones.

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu_features.hpp"
#include "kernels/exact_sell.hpp"
#include "kernels/loop_choice.hpp"
#include "kernels/sell_kernel.hpp"
#include "kernels/simd.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {
namespace {
namespace sell {

constexpr std::int64_t lanes = sell_lanes;
constexpr int default_block_width = 2048;
constexpr std::int64_t window_rows = 512;

// In entries: fetches 8 kB of values and 2 kB of columns before their use.
constexpr int default_prefetch_distance = 1024;

/// Adds one lane after the other, since lanes without a row repeat the first lane's row.
inline void add_to_rows(const SellChunk& chunk, const SellVectors& vectors, const double* sums) {
  double* const window = vectors.q + chunk.window_row;
  for (std::int64_t lane = 0; lane < lanes; ++lane) window[chunk.rows[lane]] += sums[lane];
}

inline __attribute__((always_inline)) void multiply_chunk_portable(const SellChunk& chunk,
                                                                   const SellVectors& vectors) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  double sums[lanes] = {};
  for (std::uint32_t step = 0; step < chunk.steps; ++step, values += lanes, columns += lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[lane] += values[lane] * chunk.p[columns[lane]];
  }
  add_to_rows(chunk, vectors, sums);
}
CG2D_SELL_LOOP(multiply_portable, , multiply_chunk_portable)

#if defined(__x86_64__)

CG2D_FMA inline __attribute__((always_inline)) void multiply_chunk_fma(const SellChunk& chunk,
                                                                       const SellVectors& vectors) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  const double* p = chunk.p;
  __m256d sums0123 = _mm256_setzero_pd();
  __m256d sums4567 = _mm256_setzero_pd();
  for (std::uint32_t step = 0; step < chunk.steps; ++step, values += lanes, columns += lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::memcpy(&low, columns, sizeof(low));
    std::memcpy(&high, columns + 4, sizeof(high));
    sums0123 = _mm256_fmadd_pd(_mm256_loadu_pd(values), four_of(p, low), sums0123);
    sums4567 = _mm256_fmadd_pd(_mm256_loadu_pd(values + 4), four_of(p, high), sums4567);
  }
  double sums[lanes];
  _mm256_storeu_pd(sums, sums0123);
  _mm256_storeu_pd(sums + 4, sums4567);
  add_to_rows(chunk, vectors, sums);
}
CG2D_SELL_LOOP(multiply_fma, CG2D_FMA, multiply_chunk_fma)

CG2D_AVX2 inline __attribute__((always_inline)) void multiply_chunk_avx2(const SellChunk& chunk,
                                                                         const SellVectors& vectors) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  __m256d low = _mm256_setzero_pd();
  __m256d high = _mm256_setzero_pd();
  for (std::uint32_t step = 0; step < chunk.steps; ++step, values += lanes, columns += lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    const __m256i index = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(columns)));
    const __m256d p_low = gather_avx2(chunk.p, _mm256_castsi256_si128(index));
    const __m256d p_high = gather_avx2(chunk.p, _mm256_extracti128_si256(index, 1));
    low = _mm256_fmadd_pd(_mm256_loadu_pd(values), p_low, low);
    high = _mm256_fmadd_pd(_mm256_loadu_pd(values + 4), p_high, high);
  }
  double sums[lanes];
  _mm256_storeu_pd(sums, low);
  _mm256_storeu_pd(sums + 4, high);
  add_to_rows(chunk, vectors, sums);
}
CG2D_SELL_LOOP(multiply_avx2, CG2D_AVX2, multiply_chunk_avx2)

CG2D_AVX512 inline __attribute__((always_inline)) void multiply_chunk_avx512(const SellChunk& chunk,
                                                                             const SellVectors& vectors) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  constexpr __mmask8 all_lanes = 0xff;
  __m512d sum = _mm512_setzero_pd();
  for (std::uint32_t step = 0; step < chunk.steps; ++step, values += lanes, columns += lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    const __m256i index = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(columns)));
    sum = _mm512_fmadd_pd(_mm512_loadu_pd(values), gather_avx512(chunk.p, index, all_lanes), sum);
  }
  double sums[lanes];
  _mm512_storeu_pd(sums, sum);
  add_to_rows(chunk, vectors, sums);
}
CG2D_SELL_LOOP(multiply_avx512, CG2D_AVX512, multiply_chunk_avx512)
#endif

/// The sets with a loop here that this processor has.
std::vector<InstructionSet> instruction_sets() { return of_this_processor(all_instruction_sets); }

SellLoop loop_for(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return &multiply_avx512;
    case InstructionSet::avx2:
      return &multiply_avx2;
    case InstructionSet::fma:
      return &multiply_fma;
#endif
    default:
      return &multiply_portable;
  }
}

SellShape shape_for(const KernelOptions& options) {
  return {.lanes = lanes,
          .block_width = options.tuning.block_width.value_or(default_block_width),
          .window_rows = window_rows};
}

InstructionSet preferred_instruction_set();

SellKernel::Form form_for(const KernelOptions& options) {
  const auto set =
      choose_instruction_set(options.instruction_set, instruction_sets(), preferred_instruction_set);
  return {.set = set,
          .loop = options.most_terms > 0.0 ? exact_sell_loop(set) : loop_for(set),
          .prefetch_distance = options.tuning.prefetch_distance.value_or(default_prefetch_distance),
          .shape = shape_for(options)};
}

/// Either form: the usual one where the options have no most_terms.
std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  return std::make_unique<SellKernel>(form_for(options), block, options);
}

std::unique_ptr<SpmvKernel> make_external(const ExternalArrays& block, const KernelOptions& options) {
  return std::make_unique<SellKernel>(form_for(options), block);
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
      .make_reproducible = sell::make,
      .make_external = sell::make_external,
      .is_default_for_reproducible = true,
  };
}

}  // namespace cg2d::kernels
