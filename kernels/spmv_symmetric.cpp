// Kernel "symmetric": SELL-8-2048 in column blocks with half storage; 10 bytes for two nonzeros. A step
// multiplies one entry of each of 8 rows. It adds to the sums of the rows, which are in registers, and to q
// over the columns, which is in memory: there it adds one lane after the other, since two lanes may have the
// same column. The column block's parts of p and q lie side by side, element by element, so that one cache
// line serves both.

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/column_sums.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/sell_matrix.hpp"
#include "kernels/simd.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {
namespace {
namespace symmetric {

constexpr std::int64_t lanes = 8;
constexpr int default_block_width = 8192;
constexpr std::int64_t window_rows = 2048;

// In entries: fetches 8 kB of values and 2 kB of columns before their use.
constexpr int default_prefetch_distance = 1024;

/// An element of p over the columns, and the sum for the same element of q.
struct alignas(2 * sizeof(double)) ColumnPair {
  double p;
  double q;
};

/// The vectors of one thread. p and q are those of the whole block; `pairs` holds one column block at a time.
struct PartOperands {
  const double* p_columns;
  const double* p_rows;
  double* q_rows;
  double* q_columns;
  ColumnPair* pairs;
  std::int64_t column_count;
};

/// Some column blocks of a part, to be multiplied.
struct PartBlocks {
  const SellPart& part;
  std::int64_t first_block;
  std::int64_t last_block;
  std::int64_t prefetch_distance;
};

/// Adds to q_rows, and overwrites q_columns within the column blocks.
using PartLoop = void (*)(const PartBlocks& range, const PartOperands& operands);

/// A chunk, with its parts of the vectors.
struct Chunk {
  const double* values;
  const std::uint16_t* columns;
  std::uint32_t steps;
  const std::uint16_t* rows;  // of each lane
  const double* p_rows;       // of the window
  double* q_rows;             // of the window
  ColumnPair* pairs;          // of the column block
  std::int64_t prefetch_distance;
};

// The loop over chunks is the same for every instruction set; multiply_chunk is not. This is a macro, because
// an attribute cannot be a template argument, and a function that has it is not inlined into one without it.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CG2D_SYMMETRIC_LOOP(function, attribute, multiply_chunk)                                           \
  attribute void function(const PartBlocks& range, const PartOperands& operands) {                         \
    const SellPart& part = range.part;                                                                     \
    const std::int64_t* first_chunk = part.first_chunk.data() + range.first_block * part.window_count;     \
    const std::uint32_t* steps = part.steps.data() + *first_chunk;                                         \
    const std::int64_t first_entry = part.first_step[static_cast<std::size_t>(range.first_block)] * lanes; \
    Chunk chunk{.values = part.values.data() + first_entry,                                                \
                .columns = part.columns.data() + first_entry,                                              \
                .steps = 0,                                                                                \
                .rows = part.rows.data() + *first_chunk * lanes,                                           \
                .p_rows = nullptr,                                                                         \
                .q_rows = nullptr,                                                                         \
                .pairs = operands.pairs,                                                                   \
                .prefetch_distance = range.prefetch_distance};                                             \
    for (std::int64_t block = range.first_block; block < range.last_block; ++block) {                      \
      const std::int64_t first_column = block * part.shape.block_width;                                    \
      const std::int64_t width = std::min(part.shape.block_width, operands.column_count - first_column);   \
      load_pairs(operands.p_columns + first_column, width, chunk.pairs);                                   \
      chunk.p_rows = operands.p_rows + part.first_row;                                                     \
      chunk.q_rows = operands.q_rows + part.first_row;                                                     \
      for (std::int64_t window = 0; window < part.window_count; ++window, ++first_chunk) {                 \
        for (std::int64_t rest = first_chunk[1] - first_chunk[0]; rest > 0; --rest) {                      \
          chunk.steps = *steps++;                                                                          \
          multiply_chunk(chunk);                                                                           \
          chunk.values += chunk.steps * lanes;                                                             \
          chunk.columns += chunk.steps * lanes;                                                            \
          chunk.rows += lanes;                                                                             \
        }                                                                                                  \
        chunk.p_rows += part.shape.window_rows;                                                            \
        chunk.q_rows += part.shape.window_rows;                                                            \
      }                                                                                                    \
      store_sums(chunk.pairs, width, operands.q_columns + first_column);                                   \
    }                                                                                                      \
  }

inline void load_pairs(const double* p, std::int64_t count, ColumnPair* pairs) {
  for (std::int64_t k = 0; k < count; ++k) pairs[k] = {.p = p[k], .q = 0.0};
}

inline void store_sums(const ColumnPair* pairs, std::int64_t count, double* q) {
  for (std::int64_t k = 0; k < count; ++k) q[k] = pairs[k].q;
}

/// Adds one lane after the other, since lanes without a row repeat the first lane's row.
inline void add_to_rows(const Chunk& chunk, const double* sums) {
  for (std::int64_t lane = 0; lane < lanes; ++lane) chunk.q_rows[chunk.rows[lane]] += sums[lane];
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
  add_to_rows(chunk, sums);
}
CG2D_SYMMETRIC_LOOP(multiply_portable, , multiply_chunk_portable)

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
  double sums[lanes];
  _mm_storeu_pd(sums, sums01);
  _mm_storeu_pd(sums + 2, sums23);
  _mm_storeu_pd(sums + 4, sums45);
  _mm_storeu_pd(sums + 6, sums67);
  add_to_rows(chunk, sums);
}
CG2D_SYMMETRIC_LOOP(multiply_fma, CG2D_FMA, multiply_chunk_fma)
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

SellShape shape_for(const KernelOptions& options) {
  return {.lanes = lanes,
          .block_width = options.tuning.block_width.value_or(default_block_width),
          .window_rows = window_rows};
}

class Kernel final : public SpmvKernel {
 public:
  Kernel(const CsrBlock& block, const KernelOptions& options)
      : set_(choose_instruction_set(options.instruction_set, instruction_sets(), instruction_sets().back())),
        loop_(loop_for(set_)),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_prefetch_distance)),
        shape_(shape_for(options)),
        parts_(sell_parts(block, options.thread_count, shape_)),
        column_sums_(block.column_count, options.thread_count),
        column_count_(block.column_count) {
    for (int thread = 0; thread < options.thread_count; ++thread)
      pairs_.emplace_back(static_cast<std::size_t>(shape_.block_width));
  }

  [[nodiscard]] std::string_view name() const override { return "symmetric"; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(set_); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override {
    std::int64_t bytes = 0;
    for (const auto& part : parts_) bytes += part.byte_count();
    return bytes;
  }

  /// A share is a share of the column blocks, which are the same for all threads: their sums over the
  /// columns of the share are added up before it ends.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    const int part_count = static_cast<int>(parts_.size());
    const ShareRange blocks(parts_.front().block_count, mode);
    const std::int64_t first_column = blocks.begin * shape_.block_width;
    const std::int64_t columns =
        std::min(blocks.end * shape_.block_width, column_count_) - std::min(first_column, column_count_);
#pragma omp parallel num_threads(part_count) if (part_count > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 0; part < part_count; ++part) multiply_part(part, operands, mode);
#pragma omp for schedule(static, 1)
      for (int part = 0; part < part_count; ++part) {
        column_sums_.add_to(operands.q_columns, first_column + columns * part / part_count,
                            first_column + columns * (part + 1) / part_count);
      }
    }
  }

 private:
  void multiply_part(int index, const Operands& operands, const ProductMode& mode) {
    const auto& part = parts_[static_cast<std::size_t>(index)];
    if (!mode.is_added && mode.share == 0)
      std::fill_n(operands.q_rows.data() + part.first_row, part.row_count, 0.0);
    const ShareRange blocks(part.block_count, mode);
    loop_({.part = part,
           .first_block = blocks.begin,
           .last_block = blocks.end,
           .prefetch_distance = prefetch_distance_},
          {.p_columns = operands.p_columns.data(),
           .p_rows = operands.p_rows.data(),
           .q_rows = operands.q_rows.data(),
           .q_columns = column_sums_.of_thread(index, operands.q_columns).data(),
           .pairs = pairs_[static_cast<std::size_t>(index)].data(),
           .column_count = column_count_});
  }

  InstructionSet set_;
  PartLoop loop_;
  std::int64_t prefetch_distance_;
  SellShape shape_;
  std::vector<SellPart> parts_;  // one per thread
  ColumnSums column_sums_;
  std::int64_t column_count_;
  std::vector<PageBuffer<ColumnPair>> pairs_;  // one column block per thread
};

}  // namespace symmetric
}  // namespace

KernelRow symmetric_kernel() {
  return {
      .name = "symmetric",
      .description =
          "symmetric storage: one entry of each mirrored pair; SELL-8-2048 in column blocks, 16-bit columns",
      .storage = Storage::half,
      .is_default = true,
      .bytes_per_nonzero = 5.25,
      .converts = true,
      .defaults = {.prefetch_distance = symmetric::default_prefetch_distance,
                   .block_width = symmetric::default_block_width},
      .instruction_sets = symmetric::instruction_sets(),
      .preferred_instruction_set = symmetric::instruction_sets().back(),
      .make = [](CsrBlock block, const KernelOptions& options) -> std::unique_ptr<SpmvKernel> {
        return std::make_unique<symmetric::Kernel>(block, options);
      },
  };
}

}  // namespace cg2d::kernels
