#include "kernels/parallel_parts.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cg2d::kernels {
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
