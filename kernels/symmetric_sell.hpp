#pragma once

// The common part of the kernels with half storage in SELL: vectors, the walk over column blocks, windows and
// chunks, and the kernel around a loop. A column block's parts of p and q lie side by side, element by
// element, so that one cache line serves both. The sums of a window's rows are stored chunk by chunk, and
// added to q once the window is done.
//
// The rows of a thread are cut into bands, whose column blocks are multiplied one after the other: p and q over the
// rows of a band stay in a cache from one column block to the next. Bands are whole windows, and go on with the sums
// over the columns, so that every sum has the order that it has without them.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "kernels/column_sums.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/sell_matrix.hpp"
#include "kernels/simd.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels::symmetric_sell {

constexpr std::int64_t lanes = 8;

/// 1 MB of p and q for a band, where without bands it would be 4 MB or more. Class D on 2 ranks of an AMD EPYC (Zen 5; 750 000 rows and 183 column
/// blocks for each) takes 0.64 times as long as without, class C (150 000 and 19 on 1 rank) 1.04 times: each band costs one pass over p and q
/// of all columns. Bands of 2^15 and 2^17 rows: 0.72 and 0.77.
constexpr BandSizes band_sizes{.most_rows_of_one = std::int64_t{1} << 18, .rows = std::int64_t{1} << 16};

// In entries: fetches 8 kB of values and 2 kB of columns before their use.
constexpr int default_prefetch_distance = 1024;

/// An element of p over the columns, and the sum for the same element of q.
struct alignas(2 * sizeof(double)) ColumnPair {
  double p;
  double q;
};

/// The vectors of one thread. p and q are those of the whole block; `pairs` holds one column block at a time
/// with its spare columns, `row_sums` one window with its spare position.
struct PartOperands {
  const double* p_columns;
  const double* p_rows;
  double* q_rows;
  double* q_columns;
  ColumnPair* pairs;
  double* row_sums;
  std::int64_t column_count;
  bool is_continued;  // q_columns already has sums of other rows
};

/// Some column blocks of a part, to be multiplied.
struct PartBlocks {
  const SellPart& part;
  std::int64_t first_block;
  std::int64_t last_block;
  std::int64_t prefetch_distance;
};

/// Adds to q_rows, and overwrites q_columns within the column blocks, or adds to it.
using PartLoop = void (*)(const PartBlocks& range, const PartOperands& operands);

/// A chunk, with its parts of the vectors.
struct Chunk {
  const double* values;
  const std::uint16_t* columns;
  std::uint32_t steps;
  const std::uint16_t* rows;  // row of each lane
  const double* p_rows;       // p of the window
  double* row_sums;           // sums of the lanes; overwritten
  ColumnPair* pairs;          // pairs of the column block
  std::int64_t prefetch_distance;
};

/// A window of a column block whose chunks are multiplied.
struct WindowSums {
  const double* row_sums;
  const std::uint16_t* positions;  // position of each row
  double* q_rows;                  // q of the window
  std::int64_t row_count;
};

inline void load_pairs(const PartOperands& operands, std::int64_t first_column, std::int64_t count) {
  const double* const p = operands.p_columns + first_column;
  if (operands.is_continued) {
    const double* const q = operands.q_columns + first_column;
    for (std::int64_t k = 0; k < count; ++k) operands.pairs[k] = {.p = p[k], .q = q[k]};
  } else {
    for (std::int64_t k = 0; k < count; ++k) operands.pairs[k] = {.p = p[k], .q = 0.0};
  }
}

inline void store_sums(const ColumnPair* pairs, std::int64_t count, double* q) {
  for (std::int64_t k = 0; k < count; ++k) q[k] = pairs[k].q;
}

inline __attribute__((always_inline)) void add_window_from(std::int64_t row, const WindowSums& window) {
  for (; row < window.row_count; ++row) window.q_rows[row] += window.row_sums[window.positions[row]];
}

inline __attribute__((always_inline)) void add_window(const WindowSums& window) {
  add_window_from(0, window);
}

#if defined(__x86_64__)
/// Four rows at once: one store instead of four. With some three entries per row of a window (class C) adding them one
/// by one took a fifth of the product.
CG2D_AVX2 inline __attribute__((always_inline)) void add_window_by_fours(const WindowSums& window) {
  std::int64_t row = 0;
  for (; row + 4 <= window.row_count; row += 4) {
    std::uint64_t positions = 0;
    std::memcpy(&positions, window.positions + row, sizeof(positions));
    const __m128d low = two_of(window.row_sums, column_at<0>(positions), column_at<1>(positions));
    const __m128d high = two_of(window.row_sums, column_at<2>(positions), column_at<3>(positions));
    double* q = window.q_rows + row;
    _mm256_storeu_pd(q, _mm256_add_pd(_mm256_loadu_pd(q), _mm256_set_m128d(high, low)));
  }
  add_window_from(row, window);
}
#endif

// The walk is the same for every instruction set; multiply_chunk and add_window are not. This is a macro, because an
// attribute cannot be a template argument, and a function that has it is not inlined into one without it.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CG2D_SYMMETRIC_LOOP(function, attribute, multiply_chunk, add_window)                               \
  attribute void function(const PartBlocks& range, const PartOperands& operands) {                         \
    const SellPart& part = range.part;                                                                     \
    const std::int64_t* first_chunk = part.first_chunk.data() + range.first_block * part.window_count;     \
    const std::uint32_t* steps = part.steps.data() + *first_chunk;                                         \
    const std::uint16_t* positions =                                                                       \
        part.positions.data() + part.first_position[static_cast<std::size_t>(range.first_block)];          \
    const std::int64_t first_entry = part.first_step[static_cast<std::size_t>(range.first_block)] * lanes; \
    Chunk chunk{.values = part.values.data() + first_entry,                                                \
                .columns = part.columns.data() + first_entry,                                              \
                .steps = 0,                                                                                \
                .rows = part.rows.data() + *first_chunk * lanes,                                           \
                .p_rows = nullptr,                                                                         \
                .row_sums = nullptr,                                                                       \
                .pairs = operands.pairs,                                                                   \
                .prefetch_distance = range.prefetch_distance};                                             \
    for (std::int64_t block = range.first_block; block < range.last_block; ++block) {                      \
      const std::int64_t first_column = block * part.shape.block_width;                                    \
      const std::int64_t width = std::min(part.shape.block_width, operands.column_count - first_column);   \
      load_pairs(operands, first_column, width);                                                           \
      for (std::int64_t window = 0; window < part.window_count; ++window, ++first_chunk) {                 \
        if (first_chunk[0] == first_chunk[1]) continue;                                                    \
        const std::int64_t first_row = window * part.shape.window_rows;                                    \
        chunk.p_rows = operands.p_rows + part.first_row + first_row;                                       \
        chunk.row_sums = operands.row_sums;                                                                \
        for (std::int64_t rest = first_chunk[1] - first_chunk[0]; rest > 0; --rest) {                      \
          chunk.steps = *steps++;                                                                          \
          multiply_chunk(chunk);                                                                           \
          chunk.values += chunk.steps * lanes;                                                             \
          chunk.columns += chunk.steps * lanes;                                                            \
          chunk.rows += lanes;                                                                             \
          chunk.row_sums += lanes;                                                                         \
        }                                                                                                  \
        add_window({.row_sums = operands.row_sums,                                                         \
                    .positions = positions,                                                                \
                    .q_rows = operands.q_rows + part.first_row + first_row,                                \
                    .row_count = std::min(part.shape.window_rows, part.row_count - first_row)});           \
        positions += part.shape.window_rows;                                                               \
      }                                                                                                    \
      store_sums(chunk.pairs, width, operands.q_columns + first_column);                                   \
    }                                                                                                      \
  }

/// A loop, and the shape of the matrix that it needs.
struct Loop {
  PartLoop multiply = nullptr;
  SellShape shape{};
};

/// The kernel around a loop. A row has at most one entry per column.
class Kernel final : public SpmvKernel {
 public:
  /// Throws std::bad_alloc.
  Kernel(std::string_view name, InstructionSet set, const Loop& loop, const CsrBlock& block,
         const KernelOptions& options);
  /// On one thread, for arrays that are lent. Throws std::invalid_argument for sizes of another block.
  Kernel(std::string_view name, InstructionSet set, const Loop& loop, const ExternalArrays& block,
         const KernelOptions& options);

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(set_); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override;
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override;
  [[nodiscard]] bool has_columns_in_range() const override;
  void multiply(const Operands& operands, const ProductMode& mode) override;

 private:
  using Bands = std::vector<SellPart>;

  Kernel(std::string_view name, InstructionSet set, const Loop& loop, std::vector<Bands> bands_of_threads,
         std::int64_t column_count, const KernelOptions& options);
  void multiply_bands(int thread, const Operands& operands, const ProductMode& mode);
  void multiply_band(int thread, const SellPart& band, const Operands& operands, const ProductMode& mode);

  std::string_view name_;
  InstructionSet set_;
  Loop loop_;
  std::int64_t prefetch_distance_;
  std::int64_t column_count_;
  std::vector<Bands> bands_;  // bands of each thread, one at least
  ColumnSums column_sums_;
  std::vector<PageBuffer<ColumnPair>> pairs_;  // one column block per thread
  std::vector<PageBuffer<double>> row_sums_;   // one window per thread
};

}  // namespace cg2d::kernels::symmetric_sell
