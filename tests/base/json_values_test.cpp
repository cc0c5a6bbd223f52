// JSON from files that may hold anything.

#include "cg/base/describe_json.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "cg/base/errors.hpp"

namespace cg2d::json_values_test {
namespace {

std::string nested(int levels) {
  const auto count = static_cast<size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

TEST(JsonFromTest, TextsThatAreNestedDeeplyAreRefused) {
  EXPECT_TRUE(json_from(nested(100)).is_array());
  EXPECT_THROW(json_from(nested(101)), InputError);
  EXPECT_THROW(json_from(nested(100'000)), InputError);
  EXPECT_THROW(json_from(std::string(100'000, '[')), InputError);
  std::string objects;
  for (int k = 0; k < 100'000; ++k) objects += R"({"a":)";
  EXPECT_THROW(json_from(objects), InputError);
}

TEST(JsonFromTest, BracketsInTextsAreNoLevels) {
  const std::string brackets(1000, '[');
  EXPECT_EQ(json_from("\"" + brackets + "\"").get<std::string>(), brackets);
  EXPECT_EQ(json_from(R"(["\"", ")" + brackets + "\"]")[1].get<std::string>(), brackets);
  EXPECT_EQ(json_from(R"(["\\", [[]]])").size(), 2U);
}

TEST(IntegerAtTest, OnlyWholeNumbersThatFit) {
  const auto json = json_from(R"({"a": 2147483647, "b": 2147483648, "c": -2147483649, "d": 1.5, "e": true,
                                  "f": "7", "g": null, "h": 18446744073709551615, "i": 1e300})");
  EXPECT_EQ(integer_at<int>(json, "a"), 2147483647);
  EXPECT_EQ(integer_at<int64_t>(json, "b"), 2147483648);
  for (const auto* const key : {"b", "c", "d", "e", "f", "g", "h", "i"})
    EXPECT_THROW(integer_at<int>(json, key), InputError) << key;
  EXPECT_THROW(integer_at<int64_t>(json, "h"), InputError);
  EXPECT_THROW(integer_at<int>(json, "z"), nlohmann::json::exception);
}

}  // namespace
}  // namespace cg2d::json_values_test
