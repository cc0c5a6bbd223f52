#include "comm/halo_plan.hpp"

#include <cassert>

namespace cg2d::comm {
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
