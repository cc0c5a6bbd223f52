// Parts of results that are described once: their JSON, and their schema.

#include "cg/base/json_record.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "cg/report/run_record.hpp"
#include "cg/report/session_record.hpp"
#include "cg/report/solve/solve_record.hpp"
#include "cg/run/checkpoint/checkpoint_feature.hpp"
#include "cg/run/guard/guard_record.hpp"
#include "cg/run/session_report.hpp"
#include "cg/run/streaming/streaming_feature.hpp"

namespace cg2d::record_test {
namespace {

struct Place {
  std::string name;
  std::int64_t height_m = 0;
  std::optional<double> depth_m;
};

const Record<Place>& place_record() {
  static const Record<Place> record{
      {{"name", name_type(), &Place::name},
       {"height_m", count_type(), &Place::height_m, "Above the sea."},
       {"depth_m", seconds_type(), [](const auto& place) { return value_or_null(place.depth_m); }, "",
        Presence::if_known}},
      "A place."};
  return record;
}

TEST(Record, GivesMembersInTheirOrder) {
  EXPECT_EQ(json_text(json_of(place_record(), {"Ulm", 478, 2.5})),
            R"({"name":"Ulm","height_m":478,"depth_m":2.5})");
  EXPECT_EQ(json_text(json_of(place_record(), {"Ulm", 478, {}})), R"({"name":"Ulm","height_m":478})");
}

TEST(Record, NumbersTheObjectsOfAList) {
  const std::vector<Place> places{{"Ulm", 478, {}}, {"Bonn", 60, {}}};
  EXPECT_EQ(json_text(numbered_json_of_all("rank", place_record(), places)),
            R"([{"rank":0,"name":"Ulm","height_m":478},{"rank":1,"name":"Bonn","height_m":60}])");
}

TEST(Record, SchemaRequiresWhatIsAlwaysThere) {
  const auto schema = schema_of(place_record());
  EXPECT_EQ(schema["required"], Json::parse(R"(["name", "height_m"])"));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["description"], "A place.");
  EXPECT_EQ(json_text(schema["properties"]["height_m"]),
            R"({"description":"Above the sea.","$ref":"#/$defs/count"})");
  EXPECT_EQ(numbered_schema_of("rank", place_record())["required"],
            Json::parse(R"(["rank", "name", "height_m"])"));
}

/// Members in any order.
nlohmann::json unordered(const Json& json) { return nlohmann::json::parse(json.dump()); }

/// The definitions of a schema's file, which follow from records.
class Definitions {
 public:
  explicit Definitions(const std::string& name) : name_(name) {
    std::ifstream file(CG2D_FOLDER_OF_SCHEMAS + name);
    definitions_ = nlohmann::json::parse(file).at("$defs");
  }
  void expect(const std::string& name, const FigureType& type) const {
    EXPECT_EQ(definitions_.value(name, nlohmann::json()), unordered(type))
        << name_ << ", " << name << ", must be\n"
        << type.dump(2);
  }

 private:
  std::string name_;
  nlohmann::json definitions_;
};

TEST(Record, SchemaOfASolveHasTheDefinitionsThatFollowFromTheRecords) {
  const Definitions definitions("report/solve/solve_result.schema.json");
  definitions.expect("system", schema_of(system_record()));
  definitions.expect("kernel_trial", schema_of(kernel_trial_record()));
  definitions.expect("balance", schema_of(balance_record()));
  definitions.expect("setup", schema_of(solve_setup_record()));
  definitions.expect("solution", schema_of(solution_record()));
  definitions.expect("result", schema_of(solve_result_record()));
  definitions.expect("restart", schema_of(solve_restart_record()));
  definitions.expect("guard", schema_of(guard_record(WorkKind::solve)));
  definitions.expect("injected", schema_of(injected_record(WorkKind::solve)));
}

TEST(Record, SchemaOfARunHasTheDefinitionsThatFollowFromTheRecords) {
  const Definitions definitions("report/run_result.schema.json");
  definitions.expect("checkpoints", schema_of(checkpoint_record()));
  definitions.expect("out_of_core", schema_of(out_of_core_record()));
  definitions.expect("race_verdict", race_verdict_type());
  definitions.expect("problem", schema_of(run_problem_record()));
  definitions.expect("tuning", schema_of(tuning_record()));
  definitions.expect("setup", schema_of(run_setup_record()));
  definitions.expect("result", schema_of(run_result_record()));
  definitions.expect("quiet", schema_of(run_quiet_record()));
  definitions.expect("restart", schema_of(run_restart_record()));
  definitions.expect("outer_step", numbered_schema_of("step", outer_step_record(), positive_count_type()));
  definitions.expect("prediction", schema_of(prediction_record()));
  definitions.expect("environment", schema_of(environment_record()));
  definitions.expect("provenance", schema_of(provenance_record()));
  definitions.expect("guard_check", schema_of(guard_check_record()));
  definitions.expect("guard", schema_of(guard_record(WorkKind::outer_iterations)));
  definitions.expect("injected", schema_of(injected_record(WorkKind::outer_iterations)));
  definitions.expect("node", schema_of(node_record()));
  definitions.expect("row_lengths", schema_of(row_length_record()));
  definitions.expect("quiet_repeat", schema_of(quiet_record()));
  definitions.expect("rank_range", schema_of(rank_range_record()));
  definitions.expect("grid_trial", schema_of(grid_trial_record()));
  definitions.expect("transport_trial", schema_of(transport_trial_record()));
}

}  // namespace
}  // namespace cg2d::record_test
