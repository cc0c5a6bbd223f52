#include "cg/matrix/column_strips.hpp"

#include <algorithm>
#include <utility>

namespace cg2d {

kernels::CsrBlock take_columns(kernels::CsrBlock& block, const comm::IndexRange& columns) {
  const auto is_taken = [&](std::int32_t column) { return columns.contains(column); };
  auto strip = kernels::CsrBlock::with_room(block.row_count, columns.size());
  for (std::int64_t row = 0; row < block.row_count; ++row)
    strip.row_starts[static_cast<std::size_t>(row) + 1] =
        std::ranges::count_if(block.columns_of(row), is_taken);
  strip.make_room_by_lengths();
  if (strip.nonzero_count() == block.nonzero_count()) {
    std::swap(strip.columns, block.columns);
    std::swap(strip.values, block.values);
    std::ranges::fill(block.row_starts.span(), 0);
    block.resize(0);
  } else if (strip.nonzero_count() > 0) {
    std::size_t entry = 0;
    std::size_t taken = 0;
    std::size_t kept = 0;
    for (std::size_t row = 1; row < block.row_starts.size(); ++row) {
      for (const auto end = static_cast<std::size_t>(block.row_starts[row]); entry < end; ++entry) {
        auto& target = is_taken(block.columns[entry]) ? strip : block;
        auto& place = &target == &strip ? taken : kept;
        target.columns[place] = block.columns[entry];
        target.values[place++] = block.values[entry];
      }
      block.row_starts[row] = static_cast<std::int64_t>(kept);
    }
    block.resize(kept);
  }
  for (auto& column : strip.columns.span()) column -= static_cast<std::int32_t>(columns.begin);
  return strip;
}

}  // namespace cg2d
