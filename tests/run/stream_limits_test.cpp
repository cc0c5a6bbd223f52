// The values of --memory-limit that a streamed run recommends.

#include <gtest/gtest.h>

#include <array>

#include "cg/run/streaming/out_of_core.hpp"

namespace cg2d::stream_limits_test {
namespace {

/// Reads 1 GB/s and multiplies for a second: of its 3 GB, one is read meanwhile.
RankStream slow_rank() {
  RankStream rank;
  rank.file_bytes = 3'000'000'000;
  rank.most_panel_bytes = 16'000'000;
  rank.storage_bytes_per_s = 1e9;
  rank.figures.product_count = 2;
  rank.figures.product_s = 5.0;
  rank.figures.wait_s = 3.0;
  rank.beside_bytes = 100'000'000;
  rank.node_rank_count = 2;
  return rank;
}

TEST(StreamLimits, HaveRoomForWhatIsNotReadMeanwhileAndForTheBuffers) {
  const auto limits = limits_of(std::array{slow_rank()});
  EXPECT_EQ(limits.unbound_bytes, 2 * (100'000'000 + 2'000'000'000 + 8 * 16'000'000LL));
  EXPECT_EQ(limits.in_core_bytes, 2 * (100'000'000 + 3'000'000'000LL + 16'000'000));
}

TEST(StreamLimits, AreThoseOfTheRankThatNeedsMostAndNoneWhereNothingIsKnown) {
  std::array ranks{slow_rank(), slow_rank(), slow_rank()};
  const auto before = limits_of(ranks).unbound_bytes;
  ranks[1].figures.wait_s = 4.0;  // half the time to read in
  EXPECT_EQ(limits_of(ranks).unbound_bytes, before + 2 * 500'000'000LL);
  ranks[1].figures.product_count = 0;
  EXPECT_EQ(limits_of(ranks).unbound_bytes, 0);
  EXPECT_EQ(limits_of(ranks).in_core_bytes, 0);
}

}  // namespace
}  // namespace cg2d::stream_limits_test
