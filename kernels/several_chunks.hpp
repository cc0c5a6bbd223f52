#pragma once

// SELL in column blocks for several vectors, see sell_matrix.hpp: the walk over column blocks, windows and chunks that whole and half
// storage have in common. Four rows at once: their sums do not wait for each other, and rows of a chunk end together, so that the
// processor foresees it.

#include <algorithm>
#include <cstdint>

#include "kernels/sell_matrix.hpp"
#include "kernels/several_vectors.hpp"

namespace cg2d::kernels::several_chunks {

constexpr std::int64_t lanes = 4;
constexpr std::int64_t window_rows = 1024;
constexpr std::int64_t prefetch_distance = 512;

constexpr SellShape shape_of(std::int64_t block_width) {
  return {.lanes = lanes, .block_width = block_width, .window_rows = window_rows};
}

/// As many columns as the setting allows and a quarter of a second-level cache of 1 MB has room for: beside them are the
/// rows and the matrix. Zen 5, 2026-11, class B, ms with 256 and 512 KB: 10.0 and 10.5 for 8 vectors, 18.8 and 17.1 for 16.
inline std::int64_t block_width(const KernelOptions& options) {
  constexpr std::int64_t cached_bytes = std::int64_t{256} << 10;
  const auto bytes_per_column = static_cast<std::int64_t>(sizeof(double)) * options.vector_count;
  return std::min<std::int64_t>(options.tuning.block_width.value_or(max_block_width),
                                cached_bytes / bytes_per_column);
}

/// Some column blocks of a part, and the vectors of the whole block.
struct PartOperands {
  const SellPart& part;
  std::int64_t first_block = 0;
  std::int64_t last_block = 0;
  const double* p_columns = nullptr;
  const double* p_rows = nullptr;  // with half storage, as q_columns
  double* q_rows = nullptr;
  double* q_columns = nullptr;
};

/// Four rows of a window in one column block.
struct Chunk {
  const double* values;
  const std::uint16_t* columns;
  std::int64_t steps;
  const std::uint16_t* rows;  // row of each lane
  const double* p_columns;    // p of the column block
  const double* p_rows;       // p of the window, with half storage
  double* q_rows;             // q of the window
  double* q_columns;          // q of the column block, with half storage
};

/// A window's rows are taken in the order of their lengths, which no processor foresees; between two column blocks
/// they may leave every cache. Addresses after the last row are harmless to fetch.
template <typename Row>
inline __attribute__((always_inline)) void prefetch_next_window(const double* q, std::int64_t chunk_number) {
  constexpr std::int64_t line = 8;  // doubles
  constexpr std::int64_t chunk_size = lanes * Row::size;
  const double* const next = q + window_rows * Row::size + chunk_number * chunk_size;
#pragma GCC unroll 8
  for (std::int64_t k = 0; k < chunk_size; k += line) __builtin_prefetch(next + k, 1, 2);
}

/// Multiplies as many lanes at once as fit registers: Form::registers_per_lane times a row's elements each.
template <typename Form, typename Row>
inline __attribute__((always_inline)) void multiply_chunk(const Chunk& chunk) {
  constexpr std::int64_t registers = 8;
  constexpr std::int64_t lanes_at_once =
      std::clamp<std::int64_t>(registers * Row::lanes / (Row::size * Form::registers_per_lane), 1, lanes);
  for (std::int64_t lane = 0; lane < lanes; lane += lanes_at_once)
    Form::template multiply_lanes<Row, lanes_at_once>(chunk, lane);
}

/// One lane after the other: lanes without a row of their own add zeros to the row of another one.
template <typename Row, std::int64_t LaneCount>
inline __attribute__((always_inline)) void add_to_rows(const Chunk& chunk, std::int64_t first_lane,
                                                       const Row (&sums)[LaneCount]) {
#pragma GCC unroll 4
  for (std::int64_t lane = 0; lane < LaneCount; ++lane) {
    double* const q = chunk.q_rows + chunk.rows[first_lane + lane] * Row::size;
    Row row{};
    row.load(q);
    row.add_scaled(1.0, sums[lane]);
    row.store(q);
  }
}

/// Form: stores_half, registers_per_lane, and multiply_lanes<Row, LaneCount>(chunk, first_lane), which is always inlined.
template <typename Form>
struct Loop {
  using Operands = PartOperands;

  template <typename Row>
  static inline __attribute__((always_inline)) void run(const Operands& operands) {
    const SellPart& part = operands.part;
    const std::int64_t* first_chunk = part.first_chunk.data() + operands.first_block * part.window_count;
    const std::int64_t entry = part.first_step[static_cast<std::size_t>(operands.first_block)] * lanes;
    Chunk chunk{.values = part.values.data() + entry,
                .columns = part.columns.data() + entry,
                .steps = 0,
                .rows = part.rows.data() + *first_chunk * lanes,
                .p_columns = nullptr,
                .p_rows = nullptr,
                .q_rows = nullptr,
                .q_columns = nullptr};
    for (auto block = operands.first_block; block < operands.last_block; ++block) {
      const std::int64_t first_column = block * part.shape.block_width * Row::size;
      chunk.p_columns = operands.p_columns + first_column;
      if constexpr (Form::stores_half) chunk.q_columns = operands.q_columns + first_column;
      for (std::int64_t window = 0; window < part.window_count; ++window, ++first_chunk) {
        const std::int64_t first_row = (part.first_row + window * window_rows) * Row::size;
        if constexpr (Form::stores_half) chunk.p_rows = operands.p_rows + first_row;
        chunk.q_rows = operands.q_rows + first_row;
        for (auto number = first_chunk[0]; number < first_chunk[1]; ++number) {
          prefetch_next_window<Row>(chunk.q_rows, number - first_chunk[0]);
          chunk.steps = part.steps[static_cast<std::size_t>(number)];
          multiply_chunk<Form, Row>(chunk);
          chunk.values += chunk.steps * lanes;
          chunk.columns += chunk.steps * lanes;
          chunk.rows += lanes;
        }
      }
    }
  }
};

}  // namespace cg2d::kernels::several_chunks
