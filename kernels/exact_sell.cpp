// Products with a block in the format of the kernel "sell" whose sums do not depend on order (exact_sums.hpp). A row's sum is under
// way from column block to column block: q holds it with the constant with which it began, so a chunk takes both from one load.

#include "kernels/exact_sell.hpp"

#include <bit>
#include <cstring>

#include "kernels/exact_sums.hpp"
#include "kernels/sell_kernel.hpp"

namespace cg2d::kernels {
namespace {
namespace exact_sell {

/// SplitConstants::low belongs to the binade in which a sum stays. In the format of doubles that is what is left without the
/// fraction.
constexpr std::int64_t binade_bits = ~((std::int64_t{1} << 52) - 1);

/// The sums of the eight rows of a chunk.
struct EightSums {
  double high[sell_lanes];
  double low[sell_lanes];
};

CG2D_INLINE void store_sums(const SellChunk& chunk, const SellVectors& vectors, const EightSums& sums) {
  double* const high = vectors.q + chunk.window_row;
  double* const low = vectors.q_low + chunk.window_row;
  // The first lane last: lanes without a row repeat its row, and have sums to which nothing was added.
  for (std::int64_t lane = sell_lanes - 1; lane >= 0; --lane) {
    high[chunk.rows[lane]] = sums.high[lane];
    low[chunk.rows[lane]] = sums.low[lane];
  }
}

CG2D_INLINE void multiply_chunk_portable(const SellChunk& chunk, const SellVectors& vectors) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  EightSums sums{};
  double low_constants[sell_lanes];
  for (std::int64_t lane = 0; lane < sell_lanes; ++lane) {
    const auto row = chunk.window_row + chunk.rows[lane];
    sums.high[lane] = vectors.q[row];
    sums.low[lane] = vectors.q_low[row];
    low_constants[lane] =
        std::bit_cast<double>(std::bit_cast<std::int64_t>(sums.high[lane]) & binade_bits) * vectors.low_share;
  }
  for (std::uint32_t step = 0; step < chunk.steps; ++step, values += sell_lanes, columns += sell_lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    for (std::int64_t lane = 0; lane < sell_lanes; ++lane) {
      RunningSums<double> sum{.high = sums.high[lane], .low = sums.low[lane]};
      add_term(low_constants[lane], values[lane] * chunk.p[columns[lane]], sum);
      sums.high[lane] = sum.high;
      sums.low[lane] = sum.low;
    }
  }
  store_sums(chunk, vectors, sums);
}
CG2D_SELL_LOOP(multiply_portable, , multiply_chunk_portable)

#if defined(__x86_64__)

using FourLanes = double __attribute__((vector_size(4 * sizeof(double))));
using FourWords = std::int64_t __attribute__((vector_size(4 * sizeof(double))));
using EightLanes = double __attribute__((vector_size(sell_lanes * sizeof(double))));
using EightWords = std::int64_t __attribute__((vector_size(sell_lanes * sizeof(double))));

/// The constants of all lanes for the low parts.
template <typename Words, typename Lanes>
CG2D_INLINE void set_low_constants(const Lanes& high, double low_share, Lanes& constants) {
  constants = reinterpret_cast<Lanes>(reinterpret_cast<Words>(high) & binade_bits) * low_share;
}

CG2D_INLINE void load_each(EightLanes& target, const double* source, const std::uint16_t* places) {
  target = EightLanes{source[places[0]], source[places[1]], source[places[2]], source[places[3]],
                      source[places[4]], source[places[5]], source[places[6]], source[places[7]]};
}

/// Half of a chunk.
struct FourRunningSums {
  RunningSums<FourLanes> sums;
  FourLanes low_constants;
};

CG2D_FMA CG2D_INLINE void begin_four(const SellChunk& chunk, const SellVectors& vectors, int first_lane,
                                     FourRunningSums& four) {
  std::uint64_t rows = 0;
  std::memcpy(&rows, chunk.rows + first_lane, sizeof(rows));
  four.sums.high = four_of(vectors.q + chunk.window_row, rows);
  four.sums.low = four_of(vectors.q_low + chunk.window_row, rows);
  set_low_constants<FourWords>(four.sums.high, vectors.low_share, four.low_constants);
}

CG2D_FMA CG2D_INLINE void add_four(const double* values, const __m256d& operands, FourRunningSums& four) {
  const FourLanes terms = _mm256_mul_pd(_mm256_loadu_pd(values), operands);
  add_term(four.low_constants, terms, four.sums);
}

CG2D_FMA CG2D_INLINE void store_fours(const SellChunk& chunk, const SellVectors& vectors,
                                      const FourRunningSums& first, const FourRunningSums& second) {
  EightSums stored{};
  _mm256_storeu_pd(stored.high, first.sums.high);
  _mm256_storeu_pd(stored.high + 4, second.sums.high);
  _mm256_storeu_pd(stored.low, first.sums.low);
  _mm256_storeu_pd(stored.low + 4, second.sums.low);
  store_sums(chunk, vectors, stored);
}

CG2D_FMA CG2D_INLINE void multiply_chunk_fma(const SellChunk& chunk, const SellVectors& vectors) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  FourRunningSums first{};
  FourRunningSums second{};
  begin_four(chunk, vectors, 0, first);
  begin_four(chunk, vectors, 4, second);
  for (std::uint32_t step = 0; step < chunk.steps; ++step, values += sell_lanes, columns += sell_lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::memcpy(&low, columns, sizeof(low));
    std::memcpy(&high, columns + 4, sizeof(high));
    add_four(values, four_of(chunk.p, low), first);
    add_four(values + 4, four_of(chunk.p, high), second);
  }
  store_fours(chunk, vectors, first, second);
}
CG2D_SELL_LOOP(multiply_fma, CG2D_FMA, multiply_chunk_fma)

CG2D_AVX2 CG2D_INLINE void multiply_chunk_avx2(const SellChunk& chunk, const SellVectors& vectors) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  FourRunningSums first{};
  FourRunningSums second{};
  begin_four(chunk, vectors, 0, first);
  begin_four(chunk, vectors, 4, second);
  for (std::uint32_t step = 0; step < chunk.steps; ++step, values += sell_lanes, columns += sell_lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    const __m256i index = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(columns)));
    add_four(values, gather_avx2(chunk.p, _mm256_castsi256_si128(index)), first);
    add_four(values + 4, gather_avx2(chunk.p, _mm256_extracti128_si256(index, 1)), second);
  }
  store_fours(chunk, vectors, first, second);
}
CG2D_SELL_LOOP(multiply_avx2, CG2D_AVX2, multiply_chunk_avx2)

CG2D_AVX512 CG2D_INLINE void multiply_chunk_avx512(const SellChunk& chunk, const SellVectors& vectors) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  constexpr __mmask8 all_lanes = 0xff;
  RunningSums<EightLanes> sums{};
  load_each(sums.high, vectors.q + chunk.window_row, chunk.rows);
  load_each(sums.low, vectors.q_low + chunk.window_row, chunk.rows);
  EightLanes low_constants{};
  set_low_constants<EightWords>(sums.high, vectors.low_share, low_constants);
  for (std::uint32_t step = 0; step < chunk.steps; ++step, values += sell_lanes, columns += sell_lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    const __m256i index = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(columns)));
    const EightLanes terms = _mm512_mul_pd(_mm512_loadu_pd(values), gather_avx512(chunk.p, index, all_lanes));
    add_term(low_constants, terms, sums);
  }
  EightSums stored{};
  _mm512_storeu_pd(stored.high, sums.high);
  _mm512_storeu_pd(stored.low, sums.low);
  store_sums(chunk, vectors, stored);
}
CG2D_SELL_LOOP(multiply_avx512, CG2D_AVX512, multiply_chunk_avx512)
#endif

}  // namespace exact_sell
}  // namespace

SellLoop exact_sell_loop(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return &exact_sell::multiply_avx512;
    case InstructionSet::avx2:
      return &exact_sell::multiply_avx2;
    case InstructionSet::fma:
      return &exact_sell::multiply_fma;
#endif
    default:
      return &exact_sell::multiply_portable;
  }
}

}  // namespace cg2d::kernels
