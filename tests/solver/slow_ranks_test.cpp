// --slow-rank: its texts, and the factors of the ranks in each product.

#include "cg/solver/slow_ranks.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "cg/base/errors.hpp"

namespace cg2d::slow_ranks_test {
namespace {

TEST(SlowRanksTest, ATextHasRanksFactorsAndProducts) {
  const auto slow = slow_ranks_from("1:2@600,0:1.5,1:4@700");
  ASSERT_EQ(slow.ranks.size(), 3U);
  EXPECT_EQ(slow.ranks.front().rank, 0) << "by rising products";
  EXPECT_EQ(describe(slow),
            " rank 0 by 1.5, rank 1 by 2 from product 600 on, rank 1 by 4 from product 700 on");
  for (const auto* const text : {"", "1", "1:", "1:0.5", "1:101", "-1:2", "1:2@-1", "1:nan", "1:2,", "1:2@x"})
    EXPECT_THROW(slow_ranks_from(text), InputError) << text;
}

TEST(SlowRanksTest, TheLastFactorOfARankHolds) {
  const auto slow = slow_ranks_from("1:2@600,0:1.5,1:4@700");
  EXPECT_EQ(factors_at(slow, 3, 0), (std::vector{1.5, 1.0, 1.0}));
  EXPECT_EQ(factors_at(slow, 3, 600), (std::vector{1.5, 2.0, 1.0}));
  EXPECT_EQ(factors_at(slow, 3, 9000), (std::vector{1.5, 4.0, 1.0}));
  EXPECT_EQ(factors_at(slow, 1, 9000), (std::vector{1.5})) << "without the ranks that there are not";
  EXPECT_EQ(changes_of(slow, 1).size(), 2U);
  EXPECT_TRUE(changes_of(slow, 2).empty());
  EXPECT_EQ(describe(slow_ranks_from("0:2,1:5,0:3")), " rank 1 by 5, rank 0 by 3")
      << "from the same product on";
}

TEST(SlowRanksTest, RanksMustBeThere) {
  const auto slow = slow_ranks_from("2:2");
  EXPECT_NO_THROW(require_ranks(slow, 3));
  EXPECT_THROW(require_ranks(slow, 2), InputError);
}

}  // namespace
}  // namespace cg2d::slow_ranks_test
