#pragma once

// Compares the schemas of results with the records that they follow from.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "cg/base/json_values.hpp"

namespace cg2d::test {

/// Expects this schema in a file of the project, "cg/report/run_result.schema.json". In the folder CG2D_UPDATED_SCHEMAS, where that
/// is given, the schema is written under the file's path with _ for /, for scripts/update-schemas.
inline void expect_schema_file(const std::string& path, const Json& schema) {
  if (const char* const folder = std::getenv("CG2D_UPDATED_SCHEMAS")) {
    auto name = path;
    for (auto& letter : name) letter = letter == '/' ? '_' : letter;
    std::ofstream(std::string(folder) + "/" + name) << Json{{"path", path}, {"schema", schema}}.dump();
    return;
  }
  std::ifstream file(CG2D_PROJECT_FOLDER "/" + path);
  const auto seen = Json::parse(file, nullptr, false);
  // Without the order of members.
  EXPECT_EQ(nlohmann::json::parse(seen.dump()), nlohmann::json::parse(schema.dump()))
      << path << " is not what its records say: scripts/update-schemas writes it";
}

}  // namespace cg2d::test
