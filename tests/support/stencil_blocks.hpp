#pragma once

// The 7-point Laplacian of a box, assembled block by block.

#include <array>
#include <cstdint>
#include <vector>

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
  kernels::CsrBlock block{.row_count = rows.size(),
                          .column_count = columns.size(),
                          .row_starts = kernels::PageBuffer<int64_t>(static_cast<size_t>(rows.size()) + 1),
                          .columns = kernels::PageBuffer<int32_t>(static_cast<size_t>(7 * rows.size())),
                          .values = kernels::PageBuffer<double>(static_cast<size_t>(7 * rows.size()))};
  size_t count = 0;
  const auto add = [&](int64_t column, double value) {
    if (!columns.contains(column)) return;
    block.columns[count] = static_cast<int32_t>(column - columns.begin);
    block.values[count++] = value;
  };
  const int64_t plane = box.nx * box.ny;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t x = row % box.nx;
    const int64_t y = row / box.nx % box.ny;
    const int64_t z = row / plane;
    if (z > 0) add(row - plane, -1.0);
    if (y > 0) add(row - box.nx, -1.0);
    if (x > 0) add(row - 1, -1.0);
    add(row, 6.0);
    if (x + 1 < box.nx) add(row + 1, -1.0);
    if (y + 1 < box.ny) add(row + box.nx, -1.0);
    if (z + 1 < box.nz) add(row + plane, -1.0);
    block.row_starts[static_cast<size_t>(row - rows.begin) + 1] = static_cast<int64_t>(count);
  }
  block.columns.resize(count);
  block.values.resize(count);
  return block;
}

/// The block of a Laplacian for a rank of a layout.
inline kernels::CsrBlock laplace_block(const Box& box, const comm::BlockLayout& layout, int rank) {
  return laplace_block(box, layout.row_block(layout.grid().row_of(rank)),
                       layout.column_block(layout.grid().column_of(rank)));
}

}  // namespace cg2d::test
