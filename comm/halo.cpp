#include "comm/halo.hpp"

#include <algorithm>
#include <cassert>

namespace cg2d::comm {
void pack_part(std::span<const double> operand, const Box& box, const Box& part, std::span<double> packed) {
  assert(std::ssize(packed) == part.size());
  const auto view = HaloView::of(part, operand.data(), box);
  const auto length = part.extent(0);
  double* target = packed.data();
  for (int64_t z = 0; z < part.extent(2); ++z) {
    const double* line = view.first + z * view.plane_stride;
    for (int64_t y = 0; y < part.extent(1); ++y, line += view.line_stride)
      target = std::copy_n(line, length, target);
  }
}

}  // namespace cg2d::comm
