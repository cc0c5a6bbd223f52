// How good a measurement is: with made-up figures, since the tests' machine may be busy.

#include "cg/timing/measurement_quality.hpp"

#include <gtest/gtest.h>

namespace cg2d {
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

}  // namespace
}  // namespace cg2d
