// The schemas of studies, checks, steps and pictures: each follows from records as a whole.

#include <gtest/gtest.h>

#include "cg/run/check/check_report.hpp"
#include "cg/studies/scaling_table.hpp"
#include "support/schema_file.hpp"

namespace cg2d::schema_test {
namespace {

TEST(Schema, SchemasAreThoseOfTheRecords) {
  test::expect_schema_file("cg/run/check/check_result.schema.json", check_schema());
  test::expect_schema_file("cg/studies/scaling_result.schema.json", scaling_schema());
}

}  // namespace
}  // namespace cg2d::schema_test
