#pragma once

// SELL in column blocks for several vectors, see sell_matrix.hpp: what whole and half storage have in common. Four rows at once: their
// sums do not wait for each other, and rows of a chunk end together, so that the processor foresees it. The walk over the chunks:
// several_chunks-inl.hpp.

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

}  // namespace cg2d::kernels::several_chunks
