#include "cg/matrix/column_strips.hpp"

#include <algorithm>
#include <utility>

namespace cg2d {
namespace {

using kernels::CsrBlock;

/// The entries of one row in the range, which are side by side since columns rise.
struct EntryRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

EntryRange entries_within(const CsrBlock& block, std::size_t row, const comm::IndexRange& columns) {
  const auto* const all = block.columns.data();
  const auto* const begin = all + block.row_starts[row];
  const auto* const end = all + block.row_starts[row + 1];
  const auto* const first = std::lower_bound(begin, end, columns.begin);
  return {.begin = first - all, .end = std::lower_bound(first, end, columns.end) - all};
}

/// An empty strip with the starts of its rows.
CsrBlock strip_of(const CsrBlock& block, const comm::IndexRange& columns) {
  auto strip = CsrBlock::with_room(block.row_count, columns.size());
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.row_count); ++row)
    strip.row_starts[row + 1] = strip.row_starts[row] + entries_within(block, row, columns).size();
  return strip;
}

void count_columns_from(std::int64_t first, CsrBlock& strip) {
  for (auto& column : strip.columns.span()) column -= static_cast<std::int32_t>(first);
}

/// Copies the strip's entries, and closes the gaps that they leave.
void move_entries(CsrBlock& block, const comm::IndexRange& columns, CsrBlock& strip) {
  std::int64_t kept = 0;
  std::int64_t row_begin = 0;
  const auto keep = [&](std::int64_t begin, std::int64_t end) {
    std::copy(block.columns.data() + begin, block.columns.data() + end, block.columns.data() + kept);
    std::copy(block.values.data() + begin, block.values.data() + end, block.values.data() + kept);
    kept += end - begin;
  };
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.row_count); ++row) {
    const auto row_end = block.row_starts[row + 1];
    // Found before any entry of the row moves: its start is still the old one.
    const auto taken = entries_within(block, row, columns);
    const auto target = strip.row_starts[row];
    std::copy(block.columns.data() + taken.begin, block.columns.data() + taken.end,
              strip.columns.data() + target);
    std::copy(block.values.data() + taken.begin, block.values.data() + taken.end,
              strip.values.data() + target);
    block.row_starts[row] = kept;
    keep(row_begin, taken.begin);
    keep(taken.end, row_end);
    row_begin = row_end;
  }
  block.row_starts[static_cast<std::size_t>(block.row_count)] = kept;
  block.resize(static_cast<std::size_t>(kept));
}

}  // namespace

CsrBlock take_columns(CsrBlock& block, const comm::IndexRange& columns) {
  auto strip = strip_of(block, columns);
  const auto taken = strip.nonzero_count();
  if (taken == block.nonzero_count()) {
    strip.columns = std::move(block.columns);
    strip.values = std::move(block.values);
    std::ranges::fill(block.row_starts.span(), 0);
  } else if (taken > 0) {
    strip.resize(static_cast<std::size_t>(taken));
    move_entries(block, columns, strip);
  }
  count_columns_from(columns.begin, strip);
  return strip;
}

}  // namespace cg2d
