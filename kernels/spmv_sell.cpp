// Kernel "sell": SELL-8-512 in column blocks with 16-bit columns. 10 bytes per nonzero instead of 12, the
// operand in the first-level cache, and rows as lanes, so that short rows cost no more than long ones.

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu_features.hpp"
#include "kernels/loop_choice.hpp"
#include "kernels/parallel_parts.hpp"
#include "kernels/sell_matrix.hpp"
#include "kernels/simd.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {
namespace {
namespace sell {

constexpr std::int64_t lanes = 8;
constexpr int default_block_width = 2048;
constexpr std::int64_t window_rows = 512;

// In entries: fetches 8 kB of values and 2 kB of columns before their use.
constexpr int default_prefetch_distance = 1024;

/// Some column blocks of a part, to be multiplied.
struct PartBlocks {
  const SellPart& part;
  std::int64_t first_block;
  std::int64_t last_block;
  std::int64_t prefetch_distance;
};

/// Adds the products to q; p and q are those of the whole block.
using PartLoop = void (*)(const PartBlocks& range, const double* p, double* q);

/// A chunk, with its parts of p and q.
struct Chunk {
  const double* values;
  const std::uint16_t* columns;
  std::uint32_t steps;
  const double* p;            // of the column block
  const std::uint16_t* rows;  // of each lane
  double* q;                  // of the window
  std::int64_t prefetch_distance;
};

/// Adds one lane after the other, since lanes without a row repeat the first lane's row.
inline void add_to_rows(const Chunk& chunk, const double* sums) {
  for (std::int64_t lane = 0; lane < lanes; ++lane) chunk.q[chunk.rows[lane]] += sums[lane];
}

// The loop over chunks is the same for every instruction set; multiply_chunk is not. This is a macro, because
// an attribute cannot be a template argument, and a function that has it is not inlined into one without it.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CG2D_SELL_LOOP(function, attribute, multiply_chunk)                                                \
  attribute void function(const PartBlocks& range, const double* p, double* q) {                           \
    const SellPart& part = range.part;                                                                     \
    const std::int64_t* first_chunk = part.first_chunk.data() + range.first_block * part.window_count;     \
    const std::uint32_t* steps = part.steps.data() + *first_chunk;                                         \
    const std::int64_t first_entry = part.first_step[static_cast<std::size_t>(range.first_block)] * lanes; \
    Chunk chunk{.values = part.values.data() + first_entry,                                                \
                .columns = part.columns.data() + first_entry,                                              \
                .steps = 0,                                                                                \
                .p = p + range.first_block * part.shape.block_width,                                       \
                .rows = part.rows.data() + *first_chunk * lanes,                                           \
                .q = nullptr,                                                                              \
                .prefetch_distance = range.prefetch_distance};                                             \
    for (std::int64_t block = range.first_block; block < range.last_block; ++block) {                      \
      chunk.q = q + part.first_row;                                                                        \
      for (std::int64_t window = 0; window < part.window_count; ++window) {                                \
        for (std::int64_t rest = first_chunk[1] - first_chunk[0]; rest > 0; --rest) {                      \
          chunk.steps = *steps++;                                                                          \
          multiply_chunk(chunk);                                                                           \
          chunk.values += chunk.steps * lanes;                                                             \
          chunk.columns += chunk.steps * lanes;                                                            \
          chunk.rows += lanes;                                                                             \
        }                                                                                                  \
        ++first_chunk;                                                                                     \
        chunk.q += part.shape.window_rows;                                                                 \
      }                                                                                                    \
      chunk.p += part.shape.block_width;                                                                   \
    }                                                                                                      \
  }

inline __attribute__((always_inline)) void multiply_chunk_portable(const Chunk& chunk) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  double sums[lanes] = {};
  for (std::uint32_t step = 0; step < chunk.steps; ++step, values += lanes, columns += lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[lane] += values[lane] * chunk.p[columns[lane]];
  }
  add_to_rows(chunk, sums);
}
CG2D_SELL_LOOP(multiply_portable, , multiply_chunk_portable)

#if defined(__x86_64__)

// Four elements of p, loaded one by one. A core loads two floating-point operands per clock, whatever their
// width, so four values are loaded at once. ns per nonzero of classes S, A and B, one thread:
//   Zen 5, 2026-11: four lanes per register 0.229 0.259 0.37, two lanes 0.254 0.281 0.37,
//     gathers of four 0.40 (A) 0.46 (B), of eight 0.53 0.61
//   Zen 4, 2026-11: four lanes 0.289 (A) 0.455 (B), two lanes 0.312 0.474
CG2D_FMA inline __attribute__((always_inline)) __m256d four_of(const double* p, std::uint64_t columns) {
  return _mm256_set_m128d(two_of(p, column_at<2>(columns), column_at<3>(columns)),
                          two_of(p, column_at<0>(columns), column_at<1>(columns)));
}

CG2D_FMA inline __attribute__((always_inline)) void multiply_chunk_fma(const Chunk& chunk) {
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
  add_to_rows(chunk, sums);
}
CG2D_SELL_LOOP(multiply_fma, CG2D_FMA, multiply_chunk_fma)

CG2D_AVX2 inline __attribute__((always_inline)) void multiply_chunk_avx2(const Chunk& chunk) {
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
  add_to_rows(chunk, sums);
}
CG2D_SELL_LOOP(multiply_avx2, CG2D_AVX2, multiply_chunk_avx2)

CG2D_AVX512 inline __attribute__((always_inline)) void multiply_chunk_avx512(const Chunk& chunk) {
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
  add_to_rows(chunk, sums);
}
CG2D_SELL_LOOP(multiply_avx512, CG2D_AVX512, multiply_chunk_avx512)
#endif

/// The sets with a loop here that this processor has.
std::vector<InstructionSet> instruction_sets() { return of_this_processor(all_instruction_sets); }

PartLoop loop_for(InstructionSet set) {
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

class SellKernel final : public SpmvKernel {
 public:
  SellKernel(const CsrBlock& block, const KernelOptions& options)
      : set_(choose_instruction_set(options.instruction_set, instruction_sets(), preferred_instruction_set)),
        loop_(loop_for(set_)),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_prefetch_distance)),
        parts_(sell_parts(block, options.thread_count, shape_for(options))) {}

  [[nodiscard]] std::string_view name() const override { return "sell"; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(set_); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override {
    std::int64_t bytes = 0;
    for (const auto& part : parts_) bytes += part.byte_count();
    return bytes;
  }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override { return arrays_of_parts(parts_); }
  [[nodiscard]] bool has_columns_in_range() const override {
    return all_parts_hold(static_cast<int>(parts_.size()),
                          [this](std::size_t part) { return parts_[part].has_columns_in_range(); });
  }

  /// A share is a share of the column blocks.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    const int part_count = static_cast<int>(parts_.size());
#pragma omp parallel for num_threads(part_count) schedule(static, 1) if (part_count > 1)
    for (int index = 0; index < part_count; ++index) {
      const auto& part = parts_[static_cast<std::size_t>(index)];
      if (!mode.is_added && mode.share == 0)
        std::fill_n(operands.q_rows.data() + part.first_row, part.row_count, 0.0);
      const ShareRange blocks(part.block_count, mode);
      loop_({.part = part,
             .first_block = blocks.begin,
             .last_block = blocks.end,
             .prefetch_distance = prefetch_distance_},
            operands.p_columns.data(), operands.q_rows.data());
    }
  }

 private:
  InstructionSet set_;
  PartLoop loop_;
  std::int64_t prefetch_distance_;
  std::vector<SellPart> parts_;  // one per thread
};

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  return std::make_unique<SellKernel>(block, options);
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
  };
}

}  // namespace cg2d::kernels
