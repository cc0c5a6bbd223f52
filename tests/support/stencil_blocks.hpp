#pragma once

// The 7-point Laplacian of a box, assembled block by block.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "comm/block_layout.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d::test {

/// A box of points with zeros around it; x runs fastest.
struct Box {
  int64_t nx = 1;
  int64_t ny = 1;
  int64_t nz = 1;

  int64_t size() const { return nx * ny * nz; }
};

/// The block of the second difference in three directions: 6 on the diagonal, -1 for each neighbour.
inline kernels::CsrBlock laplace_block(const Box& box, const comm::IndexRange& rows,
                                       const comm::IndexRange& columns) {
  using Neighbour = std::pair<bool, int64_t>;  // is inside of the box, its distance in rows
  kernels::CsrBlock::Rows entries(static_cast<size_t>(rows.size()));
  const int64_t plane = box.nx * box.ny;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t x = row % box.nx;
    const int64_t y = row / box.nx % box.ny;
    const int64_t z = row / plane;
    for (const auto& [is_inside, distance] :
         {Neighbour(z > 0, -plane), Neighbour(y > 0, -box.nx), Neighbour(x > 0, -1), Neighbour(true, 0),
          Neighbour(x + 1 < box.nx, 1), Neighbour(y + 1 < box.ny, box.nx),
          Neighbour(z + 1 < box.nz, plane)}) {
      if (!is_inside || !columns.contains(row + distance)) continue;
      entries[static_cast<size_t>(row - rows.begin)].push_back(
          {.column = static_cast<int32_t>(row + distance - columns.begin),
           .value = distance == 0 ? 6.0 : -1.0});
    }
  }
  return kernels::CsrBlock::from_rows(columns.size(), entries);
}

/// The block of a Laplacian for a rank of a layout.
inline kernels::CsrBlock laplace_block(const Box& box, const comm::BlockLayout& layout, int rank) {
  return laplace_block(box, layout.row_block(layout.grid().row_of(rank)),
                       layout.column_block(layout.grid().column_of(rank)));
}

}  // namespace cg2d::test
