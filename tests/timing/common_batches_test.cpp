// The rate of a work that all ranks do at the same time, with work that takes as long as it is told to. No machine's speed is asserted.

#include "cg/timing/race.hpp"

#include <gtest/gtest.h>

#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "tests/support/mpi_test.hpp"

namespace cg2d::common_batches_test {
namespace {

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
