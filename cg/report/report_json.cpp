// The report for programs. Its schema is run_result.schema.json beside this file.

#include <nlohmann/json.hpp>
#include <vector>

#include "cg/base/json_values.hpp"
#include "cg/report/phase_table.hpp"
#include "cg/report/report.hpp"
#include "cg/report/report_counters.hpp"
#include "cg/report/report_origin.hpp"
#include "cg/report/result_file.hpp"
#include "cg/report/run_record.hpp"
#include "cg/report/session_json.hpp"
#include "cg/report/session_record.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/run_report.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {
namespace {

Json configuration_of(const RunReport& report) {
  auto json = session_configuration_json(report);
  json["tuning"] = json_of(tuning_record(), report);
  return json;
}

Json outer_steps_json(const RunReport& report) {
  std::vector<OuterStep> steps;
  const auto& own = report.repeats.empty() ? report.unfinished : median_repeat(report).steps;
  if (report.restart && !own.empty()) steps = report.restart->earlier_steps;
  steps.insert(steps.end(), own.begin(), own.end());
  return numbered_json_of_all("step", outer_step_record(), steps, 1);
}

std::string write_json(const RunReport& report) { return json_text(report_json(report), 2) + "\n"; }

}  // namespace

Json problem_json(const Problem& problem) { return json_of(problem_record(), problem); }

Json report_json(const RunReport& report) {
  const bool has_result = !report.repeats.empty();
  auto json = head_json(report, result_schema_version);
  json.update({{"problem", json_of(run_problem_record(), report)},
               {"provenance", report.provenance ? provenance_json(*report.provenance) : Json(nullptr)},
               {"environment", session_environment_json(report)},
               {"configuration", report.is_resolved ? configuration_of(report) : Json(nullptr)},
               {"setup", report.ranks.empty() ? Json(nullptr) : json_of(run_setup_record(), report)},
               {"result", has_result ? json_of(run_result_record(), report) : Json(nullptr)},
               {"quiet", has_result ? json_of(run_quiet_record(), report) : Json(nullptr)},
               {"outer_steps", outer_steps_json(report)}});
  const bool has_phases = has_result && report.phases_timed;
  json["phases"] = has_phases ? phase_table_json(phases_of(report)) : Json(nullptr);
  json["roofline"] = has_phases ? roofline_json(phases_of(report)) : Json(nullptr);
  json["counters"] = has_result ? counters_json(phases_of(report)) : Json(nullptr);
  if (report.restart) json["restart"] = json_of(run_restart_record(), report);
  put_feature_sections(json, report, WorkKind::outer_iterations);
  if (report.prediction && has_result) json["prediction"] = json_of(prediction_record(), *report.prediction);
  return json;
}

std::string maker_of(const Environment& environment) {
  return maker_from(program_json(), environment_json(environment));
}

ReportFormat json_report_format() { return {.name = "json", .write = &write_json, .writes_errors = true}; }

}  // namespace cg2d
