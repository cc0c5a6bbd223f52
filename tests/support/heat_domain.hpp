#pragma once

// A whole domain in memory, stepped plainly: what passes over slabs are held against.

#include <cstdint>
#include <vector>

#include "cg/stencil/wavefront.hpp"
#include "kernels/unfused_lines.hpp"

namespace cg2d::test {

/// Planes one after the other, with a plane of zeros before the first and after the last one, and a line of zeros around each plane.
class HeatDomain {
 public:
  explicit HeatDomain(const comm::Extents& shape)
      : layout_(shape), planes_(shape[2]), values_(static_cast<size_t>((planes_ + 2) * layout_.size())) {
    const HeatField field(shape);
    for (int64_t z = 0; z < planes_; ++z) field.fill_start(z, plane(z));
  }

  [[nodiscard]] double* plane(int64_t z) { return values_.data() + (z + 1) * layout_.size(); }

  /// By the definition, point after point, with all sums in the order of kernels::HeatLoop. The build fuses no operations by default, and
  /// with this c only sums are rounded whatever it does: c and 1 - 6 c are powers of two.
  void step() {
    auto next = values_;
    const auto at = [&](int64_t x, int64_t y, int64_t z) {
      const bool is_inside =
          0 <= x && x < layout_.line_length && 0 <= y && y < layout_.line_count && 0 <= z && z < planes_;
      return is_inside ? plane(z)[layout_.line(y) + x] : 0.0;
    };
    for (int64_t z = 0; z < planes_; ++z) {
      for (int64_t y = 0; y < layout_.line_count; ++y) {
        for (int64_t x = 0; x < layout_.line_length; ++x) {
          const double sum = (at(x - 1, y, z) + at(x + 1, y, z)) + (at(x, y, z - 1) + at(x, y, z + 1)) +
                             (at(x, y - 1, z) + at(x, y + 1, z));
          next[static_cast<size_t>((z + 1) * layout_.size() + layout_.line(y) + x)] =
              heat_weights.centre * at(x, y, z) + heat_weights.side * sum;
        }
      }
    }
    values_ = std::move(next);
  }

  const PlaneLayout& layout() const { return layout_; }
  int64_t plane_count() const { return planes_; }

 private:
  PlaneLayout layout_;
  int64_t planes_;
  std::vector<double> values_;
};

}  // namespace cg2d::test
