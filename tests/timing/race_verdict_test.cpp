// How sure a race is of its winner, by the turns of the works.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cg/timing/race.hpp"

namespace cg2d {
namespace {

/// So many turns with a little noise.
std::vector<double> turns_around(double seconds, int count) {
  std::vector<double> turns;
  for (int turn = 0; turn < count; ++turn) turns.push_back(seconds * (1.0 + 0.005 * ((4 * turn) % count)));
  return turns;
}

TEST(RaceVerdictTest, TheWinnerIsNamedWithItsGain) {
  const std::vector<std::string> names{"two-sided", "put", "shared"};
  EXPECT_EQ(
      race_verdict(std::vector{turns_around(1.5, 9), turns_around(1.0, 9), turns_around(1.2, 9)}, names),
      "put is better than shared by 20 % (20 ... 20 %)");
}

TEST(RaceVerdictTest, FewTurnsDecideNothing) {
  const std::vector<std::string> names{"1x2", "2x1"};
  EXPECT_EQ(race_verdict(std::vector{turns_around(1.5, 5), turns_around(1.0, 5)}, names),
            "2x1 is not distinguishable from 1x2");
}

TEST(RaceVerdictTest, HopelessWorksAreNotCompared) {
  const std::vector<std::string> names{"1x2", "2x1", "4x1"};
  const std::vector turns{turns_around(1.2, 9), turns_around(1.0, 9), turns_around(5.0, 1)};
  EXPECT_EQ(race_verdict(turns, names), "2x1 is better than 1x2 by 20 % (20 ... 20 %)");
  EXPECT_EQ(race_verdict(std::vector{turns_around(1.0, 9), turns_around(5.0, 1)}, names), "");
}

}  // namespace
}  // namespace cg2d
