// Cuts of a box of points: every point has one rank, on every grid; and the parts of halos against the definition: the points within reach of a box,
// each from its owner.

#include "comm/domain_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <vector>

#include "support/halo_check.hpp"

namespace cg2d::comm::domain_layout_test {
namespace {

using test::Point;

TEST(DomainLayoutTest, GridsAreAllFactorizationsOnceAndRanksAndPlacesInverse) {
  for (const int rank_count : {1, 2, 3, 4, 6, 8, 12, 30}) {
    std::set<std::array<int, 3>> found;
    for (const auto& grid : domain_grids(rank_count)) {
      EXPECT_EQ(grid.rank_count(), rank_count);
      EXPECT_TRUE(found.insert(grid.parts).second) << grid.name();
      for (int rank = 0; rank < rank_count; ++rank) EXPECT_EQ(grid.rank_at(grid.place_of(rank)), rank);
    }
    size_t expected = 0;
    for (int x = 1; x <= rank_count; ++x) {
      for (int y = 1; y <= rank_count; ++y) {
        if (rank_count % (x * y) == 0) ++expected;
      }
    }
    EXPECT_EQ(found.size(), expected);
  }
  const DomainGrid grid{.parts = {2, 3, 5}};
  EXPECT_EQ(grid.place_of(1), (std::array{1, 0, 0}));
  EXPECT_EQ(grid.place_of(6), (std::array{0, 0, 1}));
  EXPECT_EQ(grid.name(), "2x3x5");
}

TEST(DomainLayoutTest, EveryPointHasOneRankAndExtentsAreEven) {
  for (const Extents& extents : {Extents{1, 1, 1}, Extents{7, 5, 3}, Extents{1, 9, 2}, Extents{4, 4, 4}}) {
    for (const int rank_count : {1, 2, 3, 4, 6, 8}) {
      for (const auto& grid : domain_grids(rank_count)) {
        const DomainLayout layout(extents, grid);
        std::vector<int> owners(static_cast<size_t>(layout.size()));
        for (int rank = 0; rank < rank_count; ++rank) {
          const auto box = layout.box(rank);
          for (size_t k = 0; k < dimension_count; ++k) {
            EXPECT_GE(box.extent(k), extents[k] / grid.parts[k]);
            EXPECT_LE(box.extent(k), (extents[k] + grid.parts[k] - 1) / grid.parts[k]);
          }
          test::for_every_point(box, [&](const Point& point) {
            ++owners[static_cast<size_t>(test::number_of(extents, point))];
          });
        }
        EXPECT_EQ(owners, std::vector<int>(owners.size(), 1)) << grid.name();
      }
    }
  }
}

TEST(DomainLayoutTest, TheBestGridHasTheSmallestFaces) {
  EXPECT_EQ(best_domain_grid({10, 10, 10}, 8).parts, (std::array{2, 2, 2}));
  EXPECT_EQ(best_domain_grid({100, 10, 10}, 4).parts, (std::array{4, 1, 1}));
  EXPECT_EQ(best_domain_grid({10, 10, 10}, 2).parts, (std::array{1, 1, 2}));
  EXPECT_EQ(best_domain_grid({40, 30, 1}, 2).parts, (std::array{2, 1, 1}));
  EXPECT_EQ(best_domain_grid({40, 40, 1}, 4).parts, (std::array{2, 2, 1}));
  // No rank without points where that can be.
  EXPECT_EQ(best_domain_grid({1000, 2, 2}, 7).parts, (std::array{7, 1, 1}));
}

TEST(DomainLayoutTest, EmptyDomainsAndGridsAreRefused) {
  EXPECT_THROW(DomainLayout({0, 1, 1}, {}), std::invalid_argument);
  EXPECT_THROW(DomainLayout({1, 1, 1}, {.parts = {1, 0, 1}}), std::invalid_argument);
}

// ---------------------------------------------------------------- halos

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

TEST(HaloPlanTest, PartsAreTheHaloEachPointOnceFromItsOwnerWhoseMirroredPartIsTheSame) {
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
          const auto theirs = halo_parts(layout, part.partner, shape);
          const auto mirrored = std::ranges::find(theirs, rank, &HaloPart::partner);
          ASSERT_NE(mirrored, theirs.end());
          EXPECT_EQ(mirrored->received, part.sent);
          EXPECT_EQ(mirrored->sent, part.received);
        }
        EXPECT_EQ(received, halo_points(layout, layout.box(rank), shape));
      }
    });
  }
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
}  // namespace cg2d::comm::domain_layout_test
