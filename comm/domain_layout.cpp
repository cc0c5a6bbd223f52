#include "comm/domain_layout.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <utility>

namespace cg2d::comm {
namespace {

/// Part number `part` of [0, extent), cut into part_count parts that differ by one at most.
IndexRange part_of(int64_t extent, int part, int part_count) {
  const auto border = [&](int64_t number) {
    return extent / part_count * number + std::min(number, extent % part_count);
  };
  return {.begin = border(part), .end = border(int64_t{part} + 1)};
}

/// Points on both sides of the borders between ranks, and first the empty boxes, which are worse.
std::pair<int64_t, int64_t> cost_of(const Extents& extents, const DomainGrid& grid) {
  int64_t idle_parts = 0;
  int64_t points = 0;
  for (size_t dimension = 0; dimension < dimension_count; ++dimension) {
    const int64_t parts = grid.parts[dimension];
    idle_parts += std::max<int64_t>(0, parts - extents[dimension]);
    points += (parts - 1) * (whole_domain(extents).size() / extents[dimension]);
  }
  return {idle_parts, points};
}

}  // namespace

Box intersection(const Box& first, const Box& second) {
  Box common;
  for (size_t dimension = 0; dimension < dimension_count; ++dimension) {
    const auto begin = std::max(first.ranges[dimension].begin, second.ranges[dimension].begin);
    const auto end = std::min(first.ranges[dimension].end, second.ranges[dimension].end);
    common.ranges[dimension] = {.begin = begin, .end = std::max(begin, end)};
  }
  return common;
}

Box whole_domain(const Extents& extents) {
  Box box;
  for (size_t dimension = 0; dimension < dimension_count; ++dimension)
    box.ranges[dimension] = {.begin = 0, .end = extents[dimension]};
  return box;
}

std::string DomainGrid::name() const {
  return std::to_string(parts[0]) + "x" + std::to_string(parts[1]) + "x" + std::to_string(parts[2]);
}

std::vector<DomainGrid> domain_grids(int rank_count) {
  std::vector<DomainGrid> grids;
  for (int x = 1; x <= rank_count; ++x) {
    if (rank_count % x != 0) continue;
    const int rest = rank_count / x;
    for (int y = 1; y <= rest; ++y) {
      if (rest % y == 0) grids.push_back({.parts = {x, y, rest / y}});
    }
  }
  return grids;
}

DomainLayout::DomainLayout(const Extents& extents, const DomainGrid& grid) : extents_(extents), grid_(grid) {
  if (std::ranges::min(extents) < 1) throw std::invalid_argument("a domain needs a point in each dimension");
  if (std::ranges::min(grid.parts) < 1) throw std::invalid_argument("no ranks in the grid " + grid.name());
}

Box DomainLayout::box(int rank) const {
  const auto place = grid_.place_of(rank);
  Box box;
  for (size_t dimension = 0; dimension < dimension_count; ++dimension)
    box.ranges[dimension] = part_of(extents_[dimension], place[dimension], grid_.parts[dimension]);
  return box;
}

DomainGrid best_domain_grid(const Extents& extents, int rank_count) {
  const auto grids = domain_grids(rank_count);
  return *std::ranges::min_element(grids, {}, [&](const DomainGrid& grid) { return cost_of(extents, grid); });
}

// ---------------------------------------------------------------- halos

namespace {

Box grown_along(const Box& box, size_t dimension, int width) {
  Box grown = box;
  grown.ranges[dimension].begin -= width;
  grown.ranges[dimension].end += width;
  return grown;
}

/// The points of `theirs` in the halo of `mine`. Both are boxes of one cut, so those across faces lie behind one
/// face.
Box halo_of(const Box& mine, const Box& theirs, const HaloShape& shape) {
  if (mine.is_empty()) return {};
  if (shape.has_corners) {
    Box grown = mine;
    for (size_t dimension = 0; dimension < dimension_count; ++dimension)
      grown = grown_along(grown, dimension, shape.width);
    return intersection(grown, theirs);
  }
  for (size_t dimension = 0; dimension < dimension_count; ++dimension) {
    const auto common = intersection(grown_along(mine, dimension, shape.width), theirs);
    if (!common.is_empty()) return common;
  }
  return {};
}

}  // namespace

std::vector<HaloPart> halo_parts(const DomainLayout& layout, int rank, const HaloShape& shape) {
  assert(shape.width >= 1);
  const auto mine = layout.box(rank);
  std::vector<HaloPart> parts;
  for (int partner = 0; partner < layout.grid().rank_count(); ++partner) {
    if (partner == rank) continue;
    const auto theirs = layout.box(partner);
    const HaloPart part{
        .partner = partner, .received = halo_of(mine, theirs, shape), .sent = halo_of(theirs, mine, shape)};
    if (!part.received.is_empty()) parts.push_back(part);
  }
  return parts;
}

int64_t offset_in(const Box& box, const std::array<int64_t, dimension_count>& point) {
  return point[0] - box.ranges[0].begin +
         box.extent(0) * (point[1] - box.ranges[1].begin + box.extent(1) * (point[2] - box.ranges[2].begin));
}

int64_t offset_of_part(const Box& box, const Box& part) {
  return offset_in(box, {part.ranges[0].begin, part.ranges[1].begin, part.ranges[2].begin});
}

bool is_consecutive(const Box& box, const Box& part) {
  const bool has_whole_lines = part.extent(0) == box.extent(0);
  const bool has_whole_planes = has_whole_lines && part.extent(1) == box.extent(1);
  const bool is_in_one_plane = part.extent(2) == 1;
  const bool is_in_one_line = is_in_one_plane && part.extent(1) == 1;
  return has_whole_planes || is_in_one_line || (has_whole_lines && is_in_one_plane);
}

}  // namespace cg2d::comm
