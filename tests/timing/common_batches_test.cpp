// The rate of a work that all ranks do at the same time: the logic with made-up times, and the counts of
// passes with work that takes as long as it is told to. No machine's speed is asserted.

#include "cg/timing/race.hpp"

#include <gtest/gtest.h>

#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "tests/support/mpi_test.hpp"

namespace cg2d::common_batches_test {
namespace {

using Seconds = std::vector<std::vector<double>>;

double best_of(const Seconds& ranks) { return best_batch_s(ranks); }

TEST(BestBatchTest, EndsWithTheSlowestRank) { EXPECT_DOUBLE_EQ(best_of({{1.0}, {3.0}}), 3.0); }

// Each rank's own shortest batch is 1 s, and there is no batch in which both took 1 s: the limits that the
// ranks reported before were those of a rank that reads while the others rest.
TEST(BestBatchTest, IsOneForAllRanks) { EXPECT_DOUBLE_EQ(best_of({{1.0, 2.0}, {4.0, 1.0}}), 2.0); }

// Rank 1 begins when rank 0 is through. Each works alone for 1 s, and rank 0 waits for rank 1: 2 s.
TEST(BestBatchTest, BeginsWithTheFirstRank) { EXPECT_DOUBLE_EQ(best_of({{2.0}, {1.0}}), 2.0); }

TEST(BestBatchTest, IsTheShortestOfSeveral) { EXPECT_DOUBLE_EQ(best_of({{1.0, 0.5}, {1.5, 0.25}}), 0.5); }

/// Takes 0.1 ms per pass and rank number, by the clock: ranks with the rates 1, 1/2, 1/3, ...
bool take_time(int rank, int64_t pass_count) {
  constexpr double pass_s = 1e-4;
  const Stopwatch watch;
  while (watch.seconds() < pass_s * static_cast<double>(pass_count) * (rank + 1)) {
  }
  return true;
}

TEST(CommonPassRateTest, NoRankIsFasterThanItsWork) {
  const int rank = test::group().rank();
  const double rate =
      common_pass_rate(test::group(), [rank](int64_t pass_count) { return take_time(rank, pass_count); });
  // A pass cannot take less than its time, however quiet the machine is.
  constexpr double rounding = 1.001;
  EXPECT_GT(rate, 0.0);
  EXPECT_LE(rate, rounding * 1e4 / (rank + 1));
}

TEST(CommonPassRateTest, OneRanksWrongResultThrowsOnAll) {
  auto& group = test::group();
  const bool is_right = group.rank() != group.size() - 1;
  const auto work = [&](int64_t pass_count) { return take_time(0, pass_count) && is_right; };
  EXPECT_THROW(static_cast<void>(common_pass_rate(group, work)), RunError);
}

}  // namespace
}  // namespace cg2d::common_batches_test
