// The schemas of studies, checks, steps and pictures: each follows from records as a whole.

#include <gtest/gtest.h>

#include "cg/commands/batch/task_result.hpp"
#include "cg/explain/explanation.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/run/check/check_report.hpp"
#include "cg/simulation/simulate_command.hpp"
#include "cg/stencil/stencil_report.hpp"
#include "cg/studies/model_command.hpp"
#include "cg/studies/paper_comparison.hpp"
#include "cg/studies/pingpong_report.hpp"
#include "cg/studies/scaling_table.hpp"
#include "cg/studies/sweep_verdict.hpp"
#include "support/schema_file.hpp"

namespace cg2d::schema_test {
namespace {

TEST(Schema, SchemasAreThoseOfTheRecords) {
  test::expect_schema_file("cg/machine/machine_description.schema.json", machine_schema());
  test::expect_schema_file("cg/simulation/simulate_result.schema.json", simulation_schema());
  test::expect_schema_file("cg/run/check/check_result.schema.json", check_schema());
  test::expect_schema_file("cg/commands/batch/batch_result.schema.json", task_schema());
  test::expect_schema_file("cg/explain/explain_result.schema.json", explanation_schema());
  test::expect_schema_file("cg/stencil/stencil_result.schema.json", stencil_schema());
  test::expect_schema_file("cg/studies/model_result.schema.json", model_schema());
  test::expect_schema_file("cg/studies/paper_result.schema.json", paper_comparison_schema());
  test::expect_schema_file("cg/studies/pingpong_result.schema.json", pingpong_schema());
  test::expect_schema_file("cg/studies/scaling_result.schema.json", scaling_schema());
  test::expect_schema_file("cg/studies/sweep_verdict.schema.json", sweep_verdict_schema());
}

}  // namespace
}  // namespace cg2d::schema_test
