#include "cg/solver/operators/surrounded_box.hpp"

#include <cassert>

namespace cg2d {

void SurroundedBox::set_halo(std::span<const comm::HaloView> views) {
  for (const auto& view : views) {
    std::array<std::int64_t, comm::dimension_count> begin{};
    for (std::size_t k = 0; k < begin.size(); ++k) begin[k] = view.box.ranges[k].begin - box_.ranges[k].begin;
    assert(view.box.extent(0) == 1 || begin[0] == 0);
    parts_[index_of(step_of(0, begin[0]), step_of(1, begin[1]), step_of(2, begin[2]))] = {
        .first = view.first - begin[1] * view.line_stride - begin[2] * view.plane_stride,
        .line_stride = view.line_stride,
        .plane_stride = view.plane_stride};
  }
}

const double* SurroundedBox::line(std::int64_t y, std::int64_t z) const {
  const int y_step = step_of(1, y);
  const int z_step = step_of(2, z);
  if (y_step == 0 && z_step == 0) return operand_.data() + box_.extent(0) * (y + box_.extent(1) * z);
  const auto& part = parts_[index_of(0, y_step, z_step)];
  return part.first == nullptr ? zeros_.data() : part.first + y * part.line_stride + z * part.plane_stride;
}

double SurroundedBox::beyond(int step, std::int64_t y, std::int64_t z) const {
  const auto& part = parts_[index_of(step, step_of(1, y), step_of(2, z))];
  return part.first == nullptr ? 0.0 : part.first[y * part.line_stride + z * part.plane_stride];
}

}  // namespace cg2d
