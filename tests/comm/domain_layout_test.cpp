// Cuts of a box of points: every point has one rank, on every grid.

#include "comm/domain_layout.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <vector>

namespace cg2d::comm::domain_layout_test {
namespace {

TEST(DomainLayoutTest, GridsAreAllFactorizationsOnce) {
  for (const int rank_count : {1, 2, 3, 4, 6, 8, 12, 30}) {
    std::set<std::array<int, 3>> found;
    for (const auto& grid : domain_grids(rank_count)) {
      EXPECT_EQ(grid.rank_count(), rank_count);
      EXPECT_TRUE(found.insert(grid.parts).second) << grid.name();
    }
    size_t expected = 0;
    for (int x = 1; x <= rank_count; ++x) {
      for (int y = 1; y <= rank_count; ++y) {
        if (rank_count % (x * y) == 0) ++expected;
      }
    }
    EXPECT_EQ(found.size(), expected);
  }
}

TEST(DomainLayoutTest, RanksAndPlacesAreInverse) {
  for (const auto& grid : domain_grids(30)) {
    for (int rank = 0; rank < 30; ++rank) EXPECT_EQ(grid.rank_at(grid.place_of(rank)), rank);
  }
  EXPECT_EQ((DomainGrid{.parts = {2, 3, 5}}.place_of(1)), (std::array{1, 0, 0}));
  EXPECT_EQ((DomainGrid{.parts = {2, 3, 5}}.place_of(6)), (std::array{0, 0, 1}));
  EXPECT_EQ((DomainGrid{.parts = {2, 3, 5}}.name()), "2x3x5");
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
          for (auto z = box.ranges[2].begin; z < box.ranges[2].end; ++z) {
            for (auto y = box.ranges[1].begin; y < box.ranges[1].end; ++y) {
              for (auto x = box.ranges[0].begin; x < box.ranges[0].end; ++x)
                ++owners[static_cast<size_t>(x + extents[0] * (y + extents[1] * z))];
            }
          }
        }
        EXPECT_EQ(owners, std::vector<int>(owners.size(), 1)) << grid.name();
      }
    }
  }
}

TEST(DomainLayoutTest, BoxesIntersect) {
  const auto box = [](IndexRange x, IndexRange y) { return Box{.ranges = {x, y, IndexRange{0, 1}}}; };
  EXPECT_EQ(intersection(box({0, 5}, {0, 5}), box({3, 9}, {1, 2})), box({3, 5}, {1, 2}));
  EXPECT_TRUE(intersection(box({0, 5}, {0, 5}), box({5, 9}, {0, 5})).is_empty());
  EXPECT_EQ(intersection(box({0, 5}, {0, 5}), box({7, 9}, {0, 5})).size(), 0);
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

}  // namespace
}  // namespace cg2d::comm::domain_layout_test
