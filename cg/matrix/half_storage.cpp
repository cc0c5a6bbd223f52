#include "cg/matrix/half_storage.hpp"

#include <algorithm>

namespace cg2d {

namespace {

/// A tile is no narrower than the column blocks of the kernels, so that these find rows of full length, unless
/// blocks of the grid are too small for two such tiles; and small enough for some tiles in every block.
///
/// Product of symmetric-distinct, class B, ns per nonzero, one core of a Zen 5, in turns, 2026-11: grids 1x8
/// and 1x16 0.28 with tiles of 2048, 0.325 with 1024 and 512 (an eighth of a block). Larger tiles than 2048
/// make no fewer chunks, and halve blocks less evenly (1x16: 2.8 and 3.7 % with 4096 and 8192 instead of 0.9).
int tile_shift_for(int64_t n, const comm::ProcessGrid& grid) {
  constexpr int64_t largest_tile = 8192;
  constexpr int64_t column_block = 2048;
  constexpr int64_t tiles_per_block = 8;
  const int64_t shorter_side = n / std::max(grid.columns, grid.rows);
  const int64_t smallest_tile = shorter_side >= 2 * column_block ? column_block : 1;
  const auto size =
      static_cast<uint64_t>(std::clamp<int64_t>(shorter_side / tiles_per_block, smallest_tile, largest_tile));
  return static_cast<int>(std::bit_width(size)) - 1;
}

}  // namespace

HalfStorageRule::HalfStorageRule(const comm::BlockLayout& layout)
    : tile_shift_(tile_shift_for(layout.size(), layout.grid())) {
  // Tiles that begin at 0 only, and straddle the kernel's column blocks on grids of several process columns:
  // 0.32 ns per nonzero instead of 0.28 (4x1, as above), and 18 % more chunks on the busiest rank than the mean.
  for (int process_column = 0; process_column < layout.grid().columns; ++process_column) {
    const auto block = layout.column_block(process_column);
    block_starts_.push_back(block.begin);
    tiles_per_block_ = std::max(tiles_per_block_, (block.size() + tile_size() - 1) >> tile_shift_);
  }
}

HalfStorageRule::Position HalfStorageRule::position_of(int64_t index) const {
  const auto next_block = std::upper_bound(block_starts_.begin() + 1, block_starts_.end(), index);
  const auto block = next_block - block_starts_.begin() - 1;
  return {.index = index, .tile = block * tiles_per_block_ + ((index - *(next_block - 1)) >> tile_shift_)};
}

void keep_half(kernels::CsrBlock& block, const comm::IndexRange& rows, const comm::IndexRange& columns,
               const HalfStorageRule& rule) {
  std::vector<HalfStorageRule::Position> positions;  // positions of the block's columns
  positions.reserve(static_cast<size_t>(columns.size()));
  for (auto index = columns.begin; index < columns.end; ++index) positions.push_back(rule.position_of(index));
  size_t kept = 0;
  size_t entry = 0;
  for (size_t next_row = 1; next_row < block.row_starts.size(); ++next_row) {
    const auto row = rule.position_of(rows.begin + static_cast<int64_t>(next_row) - 1);
    for (const auto end = static_cast<size_t>(block.row_starts[next_row]); entry < end; ++entry) {
      const auto column = positions[static_cast<size_t>(block.columns[entry])];
      if (!HalfStorageRule::keeps(row, column)) continue;
      block.columns[kept] = block.columns[entry];
      block.values[kept] = row.index == column.index ? 0.5 * block.values[entry] : block.values[entry];
      ++kept;
    }
    block.row_starts[next_row] = static_cast<int64_t>(kept);
  }
  block.resize(kept);
}

void keep_stored(kernels::CsrBlock& block, kernels::Storage storage, const comm::BlockLayout& layout,
                 int rank) {
  if (storage == kernels::Storage::whole) return;
  keep_half(block, layout.rows_of(rank), layout.columns_of(rank), HalfStorageRule(layout));
}

kernels::CsrBlock take_columns(kernels::CsrBlock& block, const comm::IndexRange& columns) {
  const auto is_taken = [&](int32_t column) { return columns.contains(column); };
  auto strip = kernels::CsrBlock::with_room(block.row_count, columns.size());
  for (int64_t row = 0; row < block.row_count; ++row)
    strip.row_starts.data()[row + 1] = std::ranges::count_if(block.columns_of(row), is_taken);
  strip.make_room_by_lengths();
  if (strip.nonzero_count() == block.nonzero_count()) {
    std::swap(strip.columns, block.columns);
    std::swap(strip.values, block.values);
    std::ranges::fill(block.row_starts.span(), 0);
    block.resize(0);
  } else if (strip.nonzero_count() > 0) {
    size_t entry = 0;
    size_t taken = 0;
    size_t kept = 0;
    for (size_t row = 1; row < block.row_starts.size(); ++row) {
      for (const auto end = static_cast<size_t>(block.row_starts[row]); entry < end; ++entry) {
        auto& target = is_taken(block.columns[entry]) ? strip : block;
        auto& place = &target == &strip ? taken : kept;
        target.columns[place] = block.columns[entry];
        target.values[place++] = block.values[entry];
      }
      block.row_starts[row] = static_cast<int64_t>(kept);
    }
    block.resize(kept);
  }
  for (auto& column : strip.columns.span()) column -= static_cast<int32_t>(columns.begin);
  return strip;
}

}  // namespace cg2d
