// The parts of halos against the definition: the points within reach of a box, each from its owner.

#include "comm/halo_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "support/domain_points.hpp"
#include "support/halo_check.hpp"

namespace cg2d::comm::halo_plan_test {
namespace {

using test::Point;

/// The points of the halo of a box, by number, one by one: those outside that are near along one dimension and
/// inside along the others, or near along each.
std::set<int64_t> halo_points(const DomainLayout& layout, const Box& box, const HaloShape& shape) {
  std::set<int64_t> points;
  if (box.is_empty()) return points;
  test::for_every_point(whole_domain(layout.extents()), [&](const Point& point) {
    int outside_count = 0;
    bool is_near = true;
    for (size_t k = 0; k < dimension_count; ++k) {
      const auto distance =
          std::max({box.ranges[k].begin - point[k], point[k] - (box.ranges[k].end - 1), int64_t{0}});
      outside_count += distance > 0 ? 1 : 0;
      is_near = is_near && distance <= shape.width;
    }
    const bool is_wanted = shape.has_corners ? outside_count > 0 : outside_count == 1;
    if (is_near && is_wanted) points.insert(test::number_of(layout.extents(), point));
  });
  return points;
}

TEST(HaloPlanTest, PartsAreTheHaloEachPointOnceFromItsOwner) {
  for (const int rank_count : {1, 2, 3, 4, 6, 8, 12}) {
    test::for_every_halo(rank_count, [&](const DomainLayout& layout, const HaloShape& shape) {
      SCOPED_TRACE(test::describe(layout, shape));
      for (int rank = 0; rank < rank_count; ++rank) {
        std::set<int64_t> received;
        int partner_before = -1;
        for (const auto& part : halo_parts(layout, rank, shape)) {
          EXPECT_GT(part.partner, partner_before);
          partner_before = part.partner;
          EXPECT_EQ(intersection(part.received, layout.box(part.partner)), part.received);
          EXPECT_FALSE(part.received.is_empty());
          test::for_every_point(part.received, [&](const Point& point) {
            EXPECT_TRUE(received.insert(test::number_of(layout.extents(), point)).second);
          });
        }
        EXPECT_EQ(received, halo_points(layout, layout.box(rank), shape));
      }
    });
  }
}

TEST(HaloPlanTest, ARankIsAPartnerOfItsPartners) {
  for (const int rank_count : {2, 3, 6, 8}) {
    test::for_every_halo(rank_count, [&](const DomainLayout& layout, const HaloShape& shape) {
      SCOPED_TRACE(test::describe(layout, shape));
      for (int rank = 0; rank < rank_count; ++rank) {
        for (const auto& part : halo_parts(layout, rank, shape)) {
          const auto theirs = halo_parts(layout, part.partner, shape);
          const auto mirrored = std::ranges::find(theirs, rank, &HaloPart::partner);
          ASSERT_NE(mirrored, theirs.end());
          EXPECT_EQ(mirrored->received, part.sent);
          EXPECT_EQ(mirrored->sent, part.received);
        }
      }
    });
  }
}

TEST(HaloPlanTest, ACubeHas26Neighbours) {
  const DomainLayout layout({9, 9, 9}, {.parts = {3, 3, 3}});
  constexpr int middle = 13;
  const auto all = halo_parts(layout, middle, {.width = 1, .has_corners = true});
  EXPECT_EQ(all.size(), 26U);
  // 6 faces of 9 points, 12 edges of 3, 8 corners.
  EXPECT_EQ(test::halo_traffic(all), (Traffic{.message_count = 26, .byte_count = 8 * (54 + 36 + 8)}));
  const auto faces = halo_parts(layout, middle, {.width = 1, .has_corners = false});
  EXPECT_EQ(test::halo_traffic(faces), (Traffic{.message_count = 6, .byte_count = 8 * 54}));
}

TEST(HaloPlanTest, OffsetsFollowTheOrderOfMemory) {
  const Box box{.ranges = {IndexRange{2, 5}, IndexRange{1, 3}, IndexRange{7, 9}}};
  int64_t expected = 0;
  test::for_every_point(box, [&](const Point& point) { EXPECT_EQ(offset_in(box, point), expected++); });
  const auto part = [](IndexRange x, IndexRange y, IndexRange z) { return Box{.ranges = {x, y, z}}; };
  EXPECT_EQ(offset_of_part(box, part({3, 4}, {2, 3}, {8, 9})), 1 + 3 * (1 + 2 * 1));
  // Consecutive or not, against the offsets of the points themselves.
  for (int64_t x = 2; x < 5; ++x) {
    for (int64_t y = 1; y < 3; ++y) {
      for (int64_t z = 7; z < 9; ++z) {
        const auto corner = part({2, x + 1}, {1, y + 1}, {7, z + 1});
        std::vector<int64_t> offsets;
        test::for_every_point(corner, [&](const Point& point) { offsets.push_back(offset_in(box, point)); });
        const bool is_one_run = offsets.back() - offsets.front() + 1 == std::ssize(offsets);
        EXPECT_EQ(is_consecutive(box, corner), is_one_run) << x << " " << y << " " << z;
      }
    }
  }
}

}  // namespace
}  // namespace cg2d::comm::halo_plan_test
