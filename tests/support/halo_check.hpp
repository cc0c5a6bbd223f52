#pragma once

// Exchanges of a halo, one after the other, with data that identify point and round.

#include <gtest/gtest.h>

#include <cstdint>
#include <span>

#include "comm/halo.hpp"
#include "support/domain_points.hpp"

namespace cg2d::test {

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
