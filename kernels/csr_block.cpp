#include "kernels/csr_block.hpp"

#include <algorithm>
#include <utility>

namespace cg2d::kernels {

void CsrBlock::make_room_by_lengths() {
  for (size_t row = 1; row < row_starts.size(); ++row) row_starts[row] += row_starts[row - 1];
  resize(static_cast<size_t>(nonzero_count()));
}

int64_t CsrBlock::byte_count() const {
  return static_cast<int64_t>(row_starts.size() * sizeof(int64_t) + columns.size() * sizeof(int32_t) +
                              values.size() * sizeof(double));
}

std::vector<StoredArray> CsrBlock::stored_arrays() {
  return {stored_array(ArrayKind::values, values), stored_array(ArrayKind::columns, columns),
          stored_array(ArrayKind::structure, row_starts)};
}

bool CsrBlock::has_columns_in_range(int64_t first_row, int64_t last_row) const {
  const auto begin = static_cast<size_t>(row_starts[static_cast<size_t>(first_row)]);
  const auto end = static_cast<size_t>(row_starts[static_cast<size_t>(last_row)]);
  // As unsigned numbers, negative ones are too large.
  uint32_t greatest = 0;
  for (auto entry = begin; entry < end; ++entry)
    greatest = std::max(greatest, static_cast<uint32_t>(columns[entry]));
  return begin == end || greatest < static_cast<uint64_t>(column_count);
}

CsrBlock CsrBlock::first_rows(int64_t count) const {
  const auto entry_count = static_cast<size_t>(row_starts[static_cast<size_t>(count)]);
  auto copy = with_room(count, column_count, entry_count);
  std::copy_n(row_starts.data(), copy.row_starts.size(), copy.row_starts.data());
  std::copy_n(columns.data(), entry_count, copy.columns.data());
  std::copy_n(values.data(), entry_count, copy.values.data());
  return copy;
}

CsrBlock CsrBlock::from_rows(int64_t column_count, const Rows& rows) {
  size_t nonzero_count = 0;
  for (const auto& row : rows) nonzero_count += row.size();
  auto block = with_room(std::ssize(rows), column_count, nonzero_count);
  size_t position = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    for (const auto& entry : rows[row]) {
      block.columns[position] = entry.column;
      block.values[position] = entry.value;
      ++position;
    }
    block.row_starts[row + 1] = static_cast<int64_t>(position);
  }
  return block;
}

std::vector<int64_t> split_rows_by_nonzeros(std::span<const int64_t> row_starts, int part_count) {
  const auto row_count = static_cast<int64_t>(row_starts.size()) - 1;
  std::vector<int64_t> borders{0};
  for (int part = 1; part < part_count; ++part) {
    // Quotient and remainder are multiplied separately: nonzeros times parts might exceed 2^63.
    const auto goal =
        row_starts.back() / part_count * part + row_starts.back() % part_count * part / part_count;
    const auto border = std::lower_bound(row_starts.begin(), row_starts.end(), goal) - row_starts.begin();
    borders.push_back(std::clamp<int64_t>(border, borders.back(), row_count));
  }
  borders.push_back(row_count);
  return borders;
}

namespace {

// The size of a huge page, so that none is broken up before all of it has been copied.
constexpr size_t chunk_bytes = size_t{1} << 21;

/// Moves one array; the share of thread k is borders[k] ... borders[k+1]-1.
template <typename T>
void place_array(PageBuffer<T>& array, const std::vector<size_t>& borders) {
  PageBuffer<T> near(array.size());
  const int part_count = static_cast<int>(borders.size()) - 1;
#pragma omp parallel for num_threads(part_count) schedule(static, 1)
  for (int part = 0; part < part_count; ++part) {
    constexpr size_t chunk = chunk_bytes / sizeof(T);
    const auto end = borders[static_cast<size_t>(part) + 1];
    for (auto begin = borders[static_cast<size_t>(part)]; begin < end;) {
      const auto chunk_end = std::min(end, (begin / chunk + 1) * chunk);
      std::copy(array.data() + begin, array.data() + chunk_end, near.data() + begin);
      array.drop(begin, chunk_end);
      begin = chunk_end;
    }
  }
  array = std::move(near);
}

}  // namespace

void place_near_threads(CsrBlock& block, std::span<const int64_t> borders) {
  if (borders.size() <= 2) return;
  std::vector<size_t> rows;
  std::vector<size_t> entries;
  for (const auto border : borders) {
    rows.push_back(static_cast<size_t>(border));
    entries.push_back(static_cast<size_t>(block.row_starts[rows.back()]));
  }
  rows.back() = block.row_starts.size();  // one more than there are rows
  place_array(block.columns, entries);
  place_array(block.values, entries);
  place_array(block.row_starts, rows);
}

}  // namespace cg2d::kernels
