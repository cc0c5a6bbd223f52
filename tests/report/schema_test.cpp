// The schemas of studies, checks, steps and pictures: each follows from records as a whole.

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "cg/base/json_record.hpp"
#include "cg/run/check/check_report.hpp"
#include "cg/studies/scaling_table.hpp"

namespace cg2d::schema_test {
namespace {

/// Members in any order.
nlohmann::json unordered(const Json& json) { return nlohmann::json::parse(json.dump()); }

void expect_file(const std::string& name, const FigureType& schema) {
  std::ifstream file(CG2D_FOLDER_OF_SCHEMAS + name);
  EXPECT_EQ(nlohmann::json::parse(file, nullptr, false), unordered(schema)) << name << " must be\n"
                                                                            << schema.dump(2);
}

TEST(Schema, HasTheDefinitionsThatItNames) {
  const auto schema = document_schema(
      "A word", {{"type", "object"}, {"properties", {{"word", defined("word")}}}}, {{"word", name_type()}});
  EXPECT_EQ(schema["$defs"].size(), 2U);
  EXPECT_EQ(schema["$defs"]["word"], name_type());
  EXPECT_TRUE(schema["$defs"].contains("name"));
}

TEST(Schema, OfADocumentFollowsFromItsRecords) {
  expect_file("run/check/check_result.schema.json", check_schema());
  expect_file("studies/scaling_result.schema.json", scaling_schema());
}

}  // namespace
}  // namespace cg2d::schema_test
