#pragma once

// Points of boxes, awkward cuts of domains, and exchanges of a halo, one after the other, with data that identify point and round.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
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

inline std::string describe(const comm::DomainLayout& layout, const comm::HaloShape& shape) {
  const auto& extents = layout.extents();
  return std::to_string(extents[0]) + "x" + std::to_string(extents[1]) + "x" + std::to_string(extents[2]) +
         " on grid " + layout.grid().name() + ", width " + std::to_string(shape.width) +
         (shape.has_corners ? " with corners" : "");
}

/// Calls visit(layout, shape) for domains on every grid of that many ranks: one point, lines, thin boxes with ranks that have no points, primes.
/// Shapes: faces and everything, one point wide and wider.
template <typename Visit>
void for_every_halo(int rank_count, const Visit& visit) {
  for (const auto& extents : {comm::Extents{1, 1, 1},
                              {11, 1, 1},
                              {1, 13, 1},
                              {1, 1, 7},
                              {5, 3, 1},
                              {7, 5, 3},
                              {4, 2, 9},
                              {8, 8, 8}}) {
    for (const auto& grid : comm::domain_grids(rank_count)) {
      for (const auto& [width, has_corners] : {std::pair{1, false}, {1, true}, {2, false}, {3, true}})
        visit(comm::DomainLayout(extents, grid), comm::HaloShape{.width = width, .has_corners = has_corners});
    }
  }
}

/// Messages and bytes that a rank sends in one exchange of these parts, where each is a message.
inline comm::Traffic halo_traffic(const std::vector<comm::HaloPart>& parts) {
  comm::Traffic traffic;
  for (const auto& part : parts) {
    traffic += {.message_count = 1, .byte_count = part.sent.size() * static_cast<int64_t>(sizeof(double))};
  }
  return traffic;
}

/// One rank's part of one exchange after the other.
class HaloCheck {
 public:
  HaloCheck(comm::HaloExchange& halo, const comm::DomainLayout& layout, int rank,
            const comm::HaloShape& shape)
      : halo_(halo),
        extents_(layout.extents()),
        box_(layout.box(rank)),
        parts_(comm::halo_parts(layout, rank, shape)) {}

  /// Writes the operand; `operand` is what operand() gave, now or before.
  void write(std::span<double> operand, int round) const {
    EXPECT_EQ(std::ssize(operand), box_.size());
    size_t next = 0;
    for_every_point(box_, [&](const Point& point) { operand[next++] = value_of(point, round); });
  }
  /// Exchanges, and compares every point of the halo and of the operand.
  void expect_exchange(std::span<const double> operand, int round) const {
    halo_.start();
    for (int k = 0; k < round % 4; ++k) halo_.progress();
    halo_.finish();
    const auto views = halo_.views();
    EXPECT_EQ(views.size(), parts_.size());
    int64_t wrong_count = 0;
    for (size_t k = 0; k < views.size(); ++k) {
      EXPECT_EQ(views[k].box, parts_[k].received);
      for_every_point(parts_[k].received, [&](const Point& point) {
        wrong_count += value_at(views[k], point) == value_of(point, round) ? 0 : 1;
      });
    }
    size_t next = 0;
    for_every_point(
        box_, [&](const Point& point) { wrong_count += operand[next++] == value_of(point, round) ? 0 : 1; });
    EXPECT_EQ(wrong_count, 0) << "round " << round;
    halo_.done();
  }

 private:
  double value_of(const Point& point, int round) const {
    return static_cast<double>(number_of(extents_, point) + 10'000 * (round + 1));
  }

  comm::HaloExchange& halo_;
  comm::Extents extents_;
  comm::Box box_;
  std::vector<comm::HaloPart> parts_;
};

}  // namespace cg2d::test
