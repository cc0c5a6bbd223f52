// SELL-4-512 in column blocks on a half-stored block: 10 bytes for two nonzeros. The column block's parts of
// p and of q lie in the first-level cache; a step multiplies one entry of each of 4 rows, and adds to the
// sums of the rows, which are in registers, and to q over the columns, which is not: those additions are one
// after the other, so that lanes may share a column.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/column_sums.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/half_spmv_kernels.hpp"
#include "kernels/sell_loops.hpp"
#include "kernels/sell_matrix.hpp"

namespace cg2d::kernels {
namespace {
namespace half_sell {

constexpr std::int64_t lanes = 4;
constexpr int default_block_width = 8192;
constexpr std::int64_t window_rows = 2048;

// In entries: 8 kB of values and 2 kB of columns ahead of their use.
constexpr int default_prefetch_distance = 1024;

/// An element of p over the columns beside the sum for the same element of q: one cache line serves both.
struct alignas(2 * sizeof(double)) ColumnPair {
  double p;
  double q;
};

/// What one thread works on. p_rows and q_rows: of the whole block. pairs: of one column block after the
/// other.
struct PartOperands {
  const double* p_columns;
  const double* p_rows;
  double* q_rows;
  double* q_columns;
  ColumnPair* pairs;
  std::int64_t column_count;
};

/// One thread's part of a product.
using PartLoop = void (*)(const SellPart& part, const PartOperands& operands, std::int64_t distance);

/// Four rows and where they are.
struct Chunk {
  const double* values;
  const std::uint16_t* columns;
  std::uint32_t steps;
  const std::uint16_t* rows;
  const double* p_rows;  // of the window
  double* q_rows;        // likewise
  ColumnPair* pairs;     // of the column block
  std::int64_t prefetch_distance;
};

// The loop over chunks is the same for every instruction set; multiply_chunk is not. A macro, because an
// attribute cannot be a template argument, and a function without it is not inlined into one that has it.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CG2D_HALF_LOOP(function, attribute, multiply_chunk)                                              \
  attribute void function(const SellPart& part, const PartOperands& operands, std::int64_t distance) {   \
    const std::uint32_t* steps = part.steps.data();                                                      \
    const std::int64_t* first_chunk = part.first_chunk.data();                                           \
    Chunk chunk{.values = part.values.data(),                                                            \
                .columns = part.columns.data(),                                                          \
                .steps = 0,                                                                              \
                .rows = part.rows.data(),                                                                \
                .p_rows = nullptr,                                                                       \
                .q_rows = nullptr,                                                                       \
                .pairs = operands.pairs,                                                                 \
                .prefetch_distance = distance};                                                          \
    std::fill_n(operands.q_rows + part.first_row, part.row_count, 0.0);                                  \
    for (std::int64_t block = 0; block < part.block_count; ++block) {                                    \
      const std::int64_t first_column = block * part.shape.block_width;                                  \
      const std::int64_t width = std::min(part.shape.block_width, operands.column_count - first_column); \
      load_pairs(operands.p_columns + first_column, width, chunk.pairs);                                 \
      chunk.p_rows = operands.p_rows + part.first_row;                                                   \
      chunk.q_rows = operands.q_rows + part.first_row;                                                   \
      for (std::int64_t window = 0; window < part.window_count; ++window, ++first_chunk) {               \
        for (std::int64_t rest = first_chunk[1] - first_chunk[0]; rest > 0; --rest) {                    \
          chunk.steps = *steps++;                                                                        \
          multiply_chunk(chunk);                                                                         \
          chunk.values += chunk.steps * lanes;                                                           \
          chunk.columns += chunk.steps * lanes;                                                          \
          chunk.rows += lanes;                                                                           \
        }                                                                                                \
        chunk.p_rows += part.shape.window_rows;                                                          \
        chunk.q_rows += part.shape.window_rows;                                                          \
      }                                                                                                  \
      store_sums(chunk.pairs, width, operands.q_columns + first_column);                                 \
    }                                                                                                    \
  }

inline void load_pairs(const double* p, std::int64_t count, ColumnPair* pairs) {
  for (std::int64_t k = 0; k < count; ++k) pairs[k] = {.p = p[k], .q = 0.0};
}

inline void store_sums(const ColumnPair* pairs, std::int64_t count, double* q) {
  for (std::int64_t k = 0; k < count; ++k) q[k] = pairs[k].q;
}

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
  for (std::int64_t lane = 0; lane < lanes; ++lane) chunk.q_rows[chunk.rows[lane]] += sums[lane];
}
CG2D_HALF_LOOP(multiply_portable, , multiply_chunk_portable)

#if defined(__x86_64__)
#define CG2D_HALF_FMA __attribute__((target("avx2,fma")))

/// 0 beside the element of p over the rows.
CG2D_HALF_FMA inline __attribute__((always_inline)) __m128d row_factor(const Chunk& chunk, int lane) {
  return _mm_loadh_pd(_mm_setzero_pd(), chunk.p_rows + chunk.rows[lane]);
}

// One load, two multiply-adds and one store for both products of an entry: the first one adds value * p to
// the sum's lower half (its upper half is of no use), the second one adds 0 to p and value * p_row to q.
CG2D_HALF_FMA inline __attribute__((always_inline)) void multiply_lane_fma(const double* value,
                                                                           __m128d row_factor,
                                                                           ColumnPair& pair, __m128d& sum) {
  const __m128d both = _mm_loaddup_pd(value);
  const __m128d p_and_q = _mm_load_pd(&pair.p);
  sum = _mm_fmadd_pd(both, p_and_q, sum);
  _mm_store_pd(&pair.p, _mm_fmadd_pd(both, row_factor, p_and_q));
}

CG2D_HALF_FMA inline __attribute__((always_inline)) void multiply_chunk_fma(const Chunk& chunk) {
  const double* values = chunk.values;
  const std::uint16_t* columns = chunk.columns;
  ColumnPair* pairs = chunk.pairs;
  const __m128d factor0 = row_factor(chunk, 0);
  const __m128d factor1 = row_factor(chunk, 1);
  const __m128d factor2 = row_factor(chunk, 2);
  const __m128d factor3 = row_factor(chunk, 3);
  __m128d sum0 = _mm_setzero_pd();
  __m128d sum1 = _mm_setzero_pd();
  __m128d sum2 = _mm_setzero_pd();
  __m128d sum3 = _mm_setzero_pd();
  for (std::uint32_t step = chunk.steps; step > 0; --step, values += lanes, columns += lanes) {
    prefetch_entries(values, columns, chunk.prefetch_distance);
    std::uint64_t word = 0;
    std::memcpy(&word, columns, sizeof(word));
    multiply_lane_fma(values, factor0, pairs[column_at<0>(word)], sum0);
    multiply_lane_fma(values + 1, factor1, pairs[column_at<1>(word)], sum1);
    multiply_lane_fma(values + 2, factor2, pairs[column_at<2>(word)], sum2);
    multiply_lane_fma(values + 3, factor3, pairs[column_at<3>(word)], sum3);
  }
  chunk.q_rows[chunk.rows[0]] += _mm_cvtsd_f64(sum0);
  chunk.q_rows[chunk.rows[1]] += _mm_cvtsd_f64(sum1);
  chunk.q_rows[chunk.rows[2]] += _mm_cvtsd_f64(sum2);
  chunk.q_rows[chunk.rows[3]] += _mm_cvtsd_f64(sum3);
}
CG2D_HALF_LOOP(multiply_fma, CG2D_HALF_FMA, multiply_chunk_fma)
#endif

/// The widest instruction set that this kernel has a loop for here.
InstructionSet used_instruction_set() {
#if defined(__x86_64__)
  if (widest_instruction_set() >= InstructionSet::fma) return InstructionSet::fma;
#endif
  return InstructionSet::portable;
}

PartLoop loop_for(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::fma) return &multiply_fma;
#endif
  static_cast<void>(set);
  return &multiply_portable;
}

SellShape shape_for(const KernelOptions& options) {
  return {.lanes = lanes,
          .block_width = options.tuning.block_width.value_or(default_block_width),
          .window_rows = window_rows};
}

class HalfSellKernel final : public HalfSpmvKernel {
 public:
  HalfSellKernel(const CsrBlock& block, const KernelOptions& options)
      : set_(used_instruction_set()),
        loop_(loop_for(set_)),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_prefetch_distance)),
        parts_(sell_parts(block, options.thread_count, shape_for(options))),
        column_sums_(block.column_count, options.thread_count),
        column_count_(block.column_count) {
    const auto width = static_cast<std::size_t>(shape_for(options).block_width);
    for (int thread = 0; thread < options.thread_count; ++thread) pairs_.emplace_back(width);
  }

  [[nodiscard]] std::string_view name() const override { return "symmetric"; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(set_); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override {
    std::int64_t bytes = 0;
    for (const auto& part : parts_) bytes += part.byte_count();
    return bytes;
  }

  void multiply(const HalfOperands& operands) override {
    const int part_count = static_cast<int>(parts_.size());
#pragma omp parallel num_threads(part_count) if (part_count > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 0; part < part_count; ++part) multiply_part(part, operands);
#pragma omp for schedule(static, 1)
      for (int part = 0; part < part_count; ++part) column_sums_.add_to(operands.q_columns, part, part_count);
    }
  }

 private:
  void multiply_part(int part, const HalfOperands& operands) {
    const auto index = static_cast<std::size_t>(part);
    loop_(parts_[index],
          {.p_columns = operands.p_columns.data(),
           .p_rows = operands.p_rows.data(),
           .q_rows = operands.q_rows.data(),
           .q_columns = column_sums_.of_thread(part, operands.q_columns).data(),
           .pairs = pairs_[index].data(),
           .column_count = column_count_},
          prefetch_distance_);
  }

  InstructionSet set_;
  PartLoop loop_;
  std::int64_t prefetch_distance_;
  std::vector<SellPart> parts_;  // one per thread
  ColumnSums column_sums_;
  std::int64_t column_count_;
  std::vector<PageBuffer<ColumnPair>> pairs_;  // one column block's, one per thread
};

}  // namespace half_sell
}  // namespace

HalfKernelRow half_sell_kernel() {
  return {
      .name = "symmetric",
      .description =
          "symmetric storage: one entry of each mirrored pair; SELL-4-512 in column blocks, 16-bit columns",
      .bytes_per_nonzero = 5.25,
      .converts = true,
      .defaults = {.prefetch_distance = half_sell::default_prefetch_distance,
                   .block_width = half_sell::default_block_width},
      .why_unavailable = [] { return std::string(); },
      .make = [](CsrBlock block, const KernelOptions& options) -> std::unique_ptr<HalfSpmvKernel> {
        return std::make_unique<half_sell::HalfSellKernel>(block, options);
      },
  };
}

}  // namespace cg2d::kernels
