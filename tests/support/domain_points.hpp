#pragma once

// Points of boxes, one after the other, and awkward cuts of domains.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/halo.hpp"

namespace cg2d::test {

using Point = std::array<int64_t, comm::dimension_count>;

/// Calls visit(point) for each point of the box, in the order of memory.
template <typename Visit>
void for_every_point(const comm::Box& box, const Visit& visit) {
  for (auto z = box.ranges[2].begin; z < box.ranges[2].end; ++z) {
    for (auto y = box.ranges[1].begin; y < box.ranges[1].end; ++y) {
      for (auto x = box.ranges[0].begin; x < box.ranges[0].end; ++x) visit(Point{x, y, z});
    }
  }
}

/// The number of a point of the domain.
inline int64_t number_of(const comm::Extents& extents, const Point& point) {
  return point[0] + extents[0] * (point[1] + extents[1] * point[2]);
}

/// The value of a point that is in a view.
inline double value_at(const comm::HaloView& view, const Point& point) {
  return view
      .first[point[0] - view.box.ranges[0].begin + view.line_stride * (point[1] - view.box.ranges[1].begin) +
             view.plane_stride * (point[2] - view.box.ranges[2].begin)];
}

/// One point, lines, thin boxes with ranks that have no points, primes.
inline std::vector<comm::Extents> awkward_extents() {
  return {{1, 1, 1}, {11, 1, 1}, {1, 13, 1}, {1, 1, 7}, {5, 3, 1}, {7, 5, 3}, {4, 2, 9}, {8, 8, 8}};
}

/// Faces and everything, one point wide and wider.
inline std::vector<comm::HaloShape> halo_shapes() {
  return {{.width = 1, .has_corners = false},
          {.width = 1, .has_corners = true},
          {.width = 2, .has_corners = false},
          {.width = 3, .has_corners = true}};
}

inline std::string describe(const comm::DomainLayout& layout, const comm::HaloShape& shape) {
  const auto& extents = layout.extents();
  return std::to_string(extents[0]) + "x" + std::to_string(extents[1]) + "x" + std::to_string(extents[2]) +
         " on grid " + layout.grid().name() + ", width " + std::to_string(shape.width) +
         (shape.has_corners ? " with corners" : "");
}

/// Calls visit(layout, shape) for every awkward domain on every grid of that many ranks, with every shape.
template <typename Visit>
void for_every_halo(int rank_count, const Visit& visit) {
  for (const auto& extents : awkward_extents()) {
    for (const auto& grid : comm::domain_grids(rank_count)) {
      for (const auto& shape : halo_shapes()) visit(comm::DomainLayout(extents, grid), shape);
    }
  }
}

}  // namespace cg2d::test
