// The table of features: their order, and when each is used.

#include "cg/run/feature.hpp"

#include <gtest/gtest.h>

#include <array>

namespace cg2d::feature_test {
namespace {

TEST(FeatureTest, ResultsHaveThisOrder) {
  const std::array<void (*)(FeatureSettings & settings), 5> order{
      [](auto& settings) { settings.checkpoint.folder = "state"; },
      [](auto& settings) { settings.out_of_core.folders = {"files"}; },
      [](auto& settings) { settings.guard.checks = true; },
      [](auto& settings) { settings.slow_ranks = slow_ranks_from("0:2"); },
      [](auto& settings) { settings.rebalances = true; }};
  const auto table = feature_table();
  ASSERT_EQ(table.size(), order.size());
  for (size_t asked = 0; asked < order.size(); ++asked) {
    FeatureSettings settings;
    order.at(asked)(settings);
    for (size_t row = 0; row < table.size(); ++row)
      EXPECT_EQ(table[row].is_used(settings), row == asked) << row << ' ' << asked;
  }
}

TEST(FeatureTest, NoneOfTheirOptionsGivenNoneIsUsed) {
  const FeatureSettings none;
  for (const auto& row : feature_table()) {
    ASSERT_NE(row.is_used, nullptr);
    EXPECT_FALSE(row.is_used(none));
  }
}

}  // namespace
}  // namespace cg2d::feature_test
