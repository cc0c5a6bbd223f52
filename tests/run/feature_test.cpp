// The table of features: their order and their options.

#include "cg/run/feature.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

#include "cg/base/errors.hpp"

namespace cg2d::feature_test {
namespace {

TEST(FeatureTest, ResultsAndOptionsHaveThisOrder) {
  const std::vector<std::string_view> order{"--checkpoint", "--out-of-core", "--guard",      "--check",
                                            "--slow-rank",  "--rebalance",   "--stall-limit"};
  std::vector<std::string_view> names;
  for (const auto& row : feature_table()) names.push_back(row.options.front().name);
  EXPECT_EQ(names, order);
}

TEST(FeatureTest, OptionsAreReadByTheirFeatureAndBelongToOne) {
  std::set<std::string_view> seen;
  for (const auto& row : feature_table()) {
    ASSERT_FALSE(row.options.empty());
    for (const auto& option : row.options) {
      EXPECT_TRUE(option.name.starts_with("--")) << option.name;
      EXPECT_TRUE(seen.insert(option.name).second) << option.name;
      EXPECT_FALSE(option.help.empty() || row.group.empty()) << option.name;
      EXPECT_NE(option.read, nullptr) << option.name;
      EXPECT_TRUE(option.value.empty() ? option.default_text.empty() : true) << option.name;
    }
  }
}

/// Names of files are refused by the parser.
TEST(FeatureTest, AnEmptyTextIsRefusedAndNotTakenForNone) {
  for (const auto& row : feature_table()) {
    for (const auto& option : row.options) {
      if (option.value.empty() || option.file) continue;
      FeatureSettings settings;
      EXPECT_THROW(option.read("", settings), InputError) << option.name;
    }
  }
}

TEST(FeatureTest, NoneOfTheirOptionsGivenNoneIsUsed) {
  const FeatureSettings none;
  for (const auto& row : feature_table()) {
    ASSERT_NE(row.is_used, nullptr) << row.options.front().name;
    EXPECT_FALSE(row.is_used(none)) << row.options.front().name;
  }
}

}  // namespace
}  // namespace cg2d::feature_test
