// The report of a solve for programs. Its schema is solve_result.schema.json beside this file.

#include <nlohmann/json.hpp>

#include "cg/base/json_values.hpp"
#include "cg/report/phase_table.hpp"
#include "cg/report/report_counters.hpp"
#include "cg/report/report_origin.hpp"
#include "cg/report/result_file.hpp"
#include "cg/report/session_json.hpp"
#include "cg/report/session_record.hpp"
#include "cg/report/solve/solve_format.hpp"
#include "cg/report/solve/solve_record.hpp"
#include "cg/run/feature.hpp"

namespace cg2d {
namespace {

Json configuration_of(const SolveReport& report) {
  auto json = session_configuration_json(report);
  if (report.kernel_trial) json["kernel_trial"] = json_of(kernel_trial_record(), *report.kernel_trial);
  if (report.matrix_free) json["matrix_free_cut"] = report.matrix_free->cut;
  return json;
}

std::string write_json(const SystemOptions& options, const SolveReport& report) {
  return json_text(solve_json(options, report), 2) + "\n";
}

}  // namespace

Json solve_json(const SystemOptions& options, const SolveReport& report) {
  const bool has_phases = report.solution && timed_step_count(report) > 0;
  const SolvedSystem solved{options, report};
  auto json = head_json(report, solve_schema_version);
  json.update({{"system", json_of(system_record(), solved)},
               {"provenance", report.provenance ? provenance_json(*report.provenance) : Json(nullptr)},
               {"environment", session_environment_json(report)},
               {"configuration", report.is_resolved ? configuration_of(report) : Json(nullptr)},
               {"setup", report.ranks.empty() ? Json(nullptr) : json_of(solve_setup_record(), solved)},
               {"result", report.solution ? json_of(solve_result_record(), report) : Json(nullptr)},
               {"phases", has_phases ? phase_table_json(phase_figures(report)) : Json(nullptr)},
               {"roofline", has_phases ? roofline_json(phase_figures(report)) : Json(nullptr)},
               {"counters", has_phases ? counters_json(phase_figures(report)) : Json(nullptr)}});
  if (report.restart) json["restart"] = json_of(solve_restart_record(), report);
  put_feature_sections(json, report, WorkKind::solve);
  if (report.quiet)
    json["quiet"] = {{"disturbed", report.quiet->is_disturbed()}, {"reason", report.quiet->reason()}};
  return json;
}

SolveFormat json_solve_format() { return {.name = "json", .write = &write_json, .writes_errors = true}; }

}  // namespace cg2d
