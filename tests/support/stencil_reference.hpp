#pragma once

// Laplacians on a box straight from their definition, one row after the other: slow, and independent of the
// program's own assembly and stencils.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "cg/matrix/stencil.hpp"

namespace cg2d::test {

/// One map from column to value per row.
using StencilRowMaps = std::vector<std::map<int32_t, double>>;

/// The difference of two points along each dimension, from their numbers.
inline std::array<int64_t, 3> difference(const comm::Extents& extents, int64_t first, int64_t second) {
  const auto nx = extents[0];
  const auto ny = extents[1];
  return {std::abs(first % nx - second % nx), std::abs(first / nx % ny - second / nx % ny),
          std::abs(first / (nx * ny) - second / (nx * ny))};
}

/// Every pair of points is compared: for small stencils.
inline StencilRowMaps reference_rows(const Stencil& stencil) {
  StencilRowMaps rows(static_cast<size_t>(stencil.order()));
  const auto order = static_cast<int32_t>(stencil.order());
  for (int32_t row = 0; row < order; ++row) {
    for (int32_t column = 0; column < order; ++column) {
      const auto [x, y, z] = difference(stencil.extents, row, column);
      const bool are_near = stencil.point_count == 27 ? std::max({x, y, z}) <= 1 : x + y + z <= 1;
      if (are_near) rows[static_cast<size_t>(row)][column] = row == column ? stencil.point_count - 1.0 : -1.0;
    }
  }
  return rows;
}

/// One point, lines along each dimension, thin and thick boxes, primes: most cannot be divided evenly by any
/// grid.
inline std::vector<Stencil> awkward_stencils() {
  return {{.extents = {1, 1, 1}, .point_count = 5},   {.extents = {1, 13, 1}, .point_count = 5},
          {.extents = {13, 1, 1}, .point_count = 5},  {.extents = {7, 5, 1}, .point_count = 5},
          {.extents = {17, 11, 1}, .point_count = 5}, {.extents = {1, 1, 1}, .point_count = 7},
          {.extents = {1, 1, 19}, .point_count = 7},  {.extents = {5, 4, 3}, .point_count = 7},
          {.extents = {2, 9, 7}, .point_count = 7},   {.extents = {11, 1, 5}, .point_count = 7},
          {.extents = {1, 1, 1}, .point_count = 27},  {.extents = {1, 17, 1}, .point_count = 27},
          {.extents = {5, 4, 3}, .point_count = 27},  {.extents = {7, 2, 9}, .point_count = 27},
          {.extents = {6, 7, 5}, .point_count = 27}};
}

}  // namespace cg2d::test
