#pragma once

// The lines of points in and around a rank's box: its own, those of other ranks, and zeros outside of the domain.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "cg/base/process_memory.hpp"
#include "comm/halo.hpp"

namespace cg2d {

/// Where the points of a box and those one step around it are in memory. Points count from the box's first one: y
/// and z are within -1 ... extent.
class SurroundedBox {
 public:
  SurroundedBox(const comm::Extents& extents, const comm::Box& box)
      : extents_(extents),
        box_(box),
        zeros_(static_cast<std::size_t>(std::max(box.extent(0), longest_run))) {}

  /// Lines are followed by the next ones of their plane; outside of the domain by as many zeros as there are points
  /// in a run of lines, or in one line.
  static constexpr std::int64_t longest_run = 1024;

  [[nodiscard]] const comm::Box& box() const { return box_; }
  /// Whether the domain goes on beyond the box; step: -1 or 1.
  [[nodiscard]] bool goes_on(std::size_t dimension, int step) const {
    const auto& range = box_.ranges[dimension];
    return step < 0 ? range.begin > 0 : range.end < extents_[dimension];
  }

  void set_operand(std::span<const double> operand) { operand_ = operand; }
  [[nodiscard]] std::span<const double> operand() const { return operand_; }
  /// The halo, of width 1, as the exchange gives it.
  void set_halo(std::span<const comm::HaloView> views);

  /// Point 0 of a line along x.
  [[nodiscard]] const double* line(std::int64_t y, std::int64_t z) const;
  /// The point beyond an end of that line; step: -1 or 1.
  [[nodiscard]] double beyond(int step, std::int64_t y, std::int64_t z) const;

 private:
  /// A part of the halo, whose pointer is moved so that points count as those of the box.
  struct Part {
    const double* first = nullptr;  // none: outside of the domain
    std::int64_t line_stride = 0;
    std::int64_t plane_stride = 0;
  };

  [[nodiscard]] int step_of(std::size_t dimension, std::int64_t place) const {
    return place < 0 ? -1 : place >= box_.extent(dimension) ? 1 : 0;
  }
  [[nodiscard]] static std::size_t index_of(int x, int y, int z) {
    const int number = x + 1 + 3 * (y + 1 + 3 * (z + 1));
    return static_cast<std::size_t>(number);
  }

  comm::Extents extents_;
  comm::Box box_;
  HugePageVector zeros_;
  std::span<const double> operand_;
  std::array<Part, 27> parts_{};  // by step along x, y and z
};

}  // namespace cg2d
