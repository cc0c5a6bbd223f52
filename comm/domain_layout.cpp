#include "comm/domain_layout.hpp"

#include <algorithm>
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

}  // namespace cg2d::comm
