// The parts of results that do not depend on what was measured.

#include "cg/report/session_json.hpp"

#include <nlohmann/json.hpp>

#include "cg/base/json_values.hpp"
#include "cg/report/build_info.hpp"
#include "cg/report/report.hpp"
#include "cg/report/report_origin.hpp"
#include "cg/report/result_file.hpp"
#include "cg/report/session_record.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/session_report.hpp"

namespace cg2d {

Json program_json() { return {{"name", "cg2d"}, {"version", build_info::version}}; }

Json environment_json(const Environment& environment) {
  return json_of(environment_record(), SeenEnvironment{environment});
}

Json head_json(const SessionReport& report, int schema_version) {
  return {{"schema_version", schema_version},           {"program", program_json()},
          {"status", status_name(report.code)},         {"reason", report.reason},
          {"exit_code", static_cast<int>(report.code)}, {"warnings", report.warnings}};
}

Json session_environment_json(const SessionReport& report) {
  if (!report.environment) return nullptr;
  return json_of(environment_record(), SeenEnvironment{*report.environment, &report});
}

Json session_configuration_json(const SessionReport& report) {
  const auto& grid = report.configuration.grid;
  Json json{{"ranks", grid.rank_count()},
            {"grid",
             {{"name", grid.name()},
              {"columns", grid.columns},
              {"rows", grid.rows},
              {"automatic", report.grid_is_automatic}}}};
  put_axes(json, report.configuration, AxesIn::a_report);
  json["symmetric_storage"] = report.is_symmetric;
  json["instruction_set"] = report.instruction_set;
  if (report.grid_trial) json["grid"]["trial"] = json_of(grid_trial_record(), *report.grid_trial);
  if (report.transport_trial)
    json["transport_trial"] = json_of(transport_trial_record(), *report.transport_trial);
  return json;
}

void put_feature_sections(Json& json, const SessionReport& report, WorkKind kind) {
  for (const auto& feature : feature_table()) {
    if (feature.record != nullptr) json.update(json_of(feature.record(kind), report));
  }
}

}  // namespace cg2d
