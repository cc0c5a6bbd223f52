#include "cg/matrix/half_storage.hpp"

#include <algorithm>
#include <bit>

namespace cg2d {
namespace {

/// A tile is larger than the column blocks of the kernels, so that most of these find rows of full length,
/// but small enough for some tiles in every block of the grid.
int tile_shift_for(std::int64_t n, const comm::ProcessGrid& grid) {
  constexpr std::int64_t largest_tile = 8192;
  constexpr std::int64_t tiles_per_block = 8;
  const std::int64_t shorter_side = n / std::max(grid.columns, grid.rows);
  const auto size =
      static_cast<std::uint64_t>(std::clamp<std::int64_t>(shorter_side / tiles_per_block, 1, largest_tile));
  return static_cast<int>(std::bit_width(size)) - 1;
}

}  // namespace

HalfStorageRule::HalfStorageRule(std::int64_t n, const comm::ProcessGrid& grid)
    : tile_shift_(tile_shift_for(n, grid)) {}

void keep_half(kernels::CsrBlock& block, const comm::IndexRange& rows, const comm::IndexRange& columns,
               const HalfStorageRule& rule) {
  std::size_t kept = 0;
  auto entry = static_cast<std::size_t>(0);
  for (std::int64_t row = 0; row < block.row_count; ++row) {
    const auto end = static_cast<std::size_t>(block.row_starts[static_cast<std::size_t>(row) + 1]);
    for (; entry < end; ++entry) {
      const std::int64_t global_row = rows.begin + row;
      const std::int64_t global_column = columns.begin + block.columns[entry];
      if (!rule.keeps(global_row, global_column)) continue;
      block.columns[kept] = block.columns[entry];
      block.values[kept] = global_row == global_column ? 0.5 * block.values[entry] : block.values[entry];
      ++kept;
    }
    block.row_starts[static_cast<std::size_t>(row) + 1] = static_cast<std::int64_t>(kept);
  }
  block.columns.resize(kept);
  block.values.resize(kept);
}

void keep_stored(kernels::CsrBlock& block, kernels::Storage storage, const comm::BlockLayout& layout,
                 int rank) {
  if (storage == kernels::Storage::whole) return;
  const auto grid = layout.grid();
  keep_half(block, layout.row_block(grid.row_of(rank)), layout.column_block(grid.column_of(rank)),
            HalfStorageRule(layout.size(), grid));
}

}  // namespace cg2d
