// How good a measurement is: with made-up figures, since the tests' machine may be busy.

#include "cg/timing/measurement_quality.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/system_tree.hpp"
#include "tests/support/mpi_test.hpp"

namespace cg2d::measurement_quality_test {
namespace {

TEST(SpreadOfRepeatsTest, IsThatOfTheQuartiles) {
  EXPECT_DOUBLE_EQ(spread_of_repeats({1.0, 2.0, 3.0, 4.0, 5.0}), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(spread_of_repeats({1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 50.0}), 0.0) << "one spike";
  EXPECT_DOUBLE_EQ(spread_of_repeats({1.0, 5.0, 9.0}), 0.0) << "too few for quartiles";
}

TEST(WhyDisturbedTest, NamesWhatTookTheProcessor) {
  EXPECT_EQ(why_disturbed({.switches_per_s = 4.0, .steal_share = 0.01, .spread = 0.1}, false), "");
  EXPECT_NE(why_disturbed({.switches_per_s = 180.0}, false).find("180 times in a second"), std::string::npos);
  EXPECT_NE(why_disturbed({.steal_share = 0.2}, false).find("hypervisor took 20 %"), std::string::npos);
  EXPECT_NE(why_disturbed({.spread = 0.5}, false).find("50 % apart"), std::string::npos);
}

TEST(WhyDisturbedTest, RanksThatShareCoresTakeThemFromEachOther) {
  EXPECT_EQ(why_disturbed({.switches_per_s = 500.0}, true), "");
  EXPECT_NE(why_disturbed({.steal_share = 0.2}, true), "");
}

TEST(QualityWatchTest, StealIsThatOfTheWorstNode) {
  const test::SystemTree tree;
  tree.write("proc/stat", "cpu  100 0 0 800 0 0 0 50\n");
  const QualityWatch watch(tree.folders());
  // 200 ticks later; of these 20 went to other guests, and on the last rank's node 60.
  const bool is_last = test::group().rank() == test::group().size() - 1;
  tree.write("proc/stat", is_last ? "cpu  200 0 0 840 0 0 0 110\n" : "cpu  200 0 0 880 0 0 0 70\n");
  const auto quality = watch.quality(test::group(), is_last ? 0.25 : 0.125);
  EXPECT_DOUBLE_EQ(quality.steal_share, 0.3);
  EXPECT_DOUBLE_EQ(quality.spread, 0.25);
}

TEST(QualityWatchTest, WithoutFilesThereIsNoSteal) {
  const test::SystemTree tree;
  EXPECT_DOUBLE_EQ(QualityWatch(tree.folders()).quality(test::group(), 0.0).steal_share, 0.0);
}

}  // namespace
}  // namespace cg2d::measurement_quality_test
