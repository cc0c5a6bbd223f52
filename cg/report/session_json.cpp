// The parts of results that do not depend on what was measured.

#include "cg/report/session_json.hpp"

#include <nlohmann/json.hpp>

#include "cg/base/json_values.hpp"
#include "cg/report/build_info.hpp"
#include "cg/report/report.hpp"
#include "cg/report/report_origin.hpp"
#include "cg/report/result_file.hpp"
#include "cg/report/session_record.hpp"
#include "cg/run/session_report.hpp"

namespace cg2d {
namespace {

/// A solve has no outer iterations: its place is an iteration.
void put_place(Json& json, int rank, int outer_step, int product) {
  json["rank"] = rank;
  if (outer_step != of_a_solve) json["outer_step"] = outer_step;
  json[outer_step == of_a_solve ? "iteration" : "product"] = product;
}

Json guard_json(const GuardReport& guard) {
  Json checks = Json::object();
  for (std::size_t check = 0; check < guard_check_count; ++check)
    checks[std::string(guard_check_names[check])] = {
        {"count", guard.check_counts[check]}, {"largest_ratio", number_or_null(guard.largest_ratios[check])}};
  Json detections = Json::array();
  for (const auto& found : guard.detections) {
    Json detection{{"check", name_of(found.check)}};
    put_place(detection, found.rank, found.outer_step, found.product);
    detection["error"] = number_or_null(found.error);
    detection["tolerance"] = number_or_null(found.tolerance);
    detections.push_back(std::move(detection));
  }
  return {{"checks", std::move(checks)},
          {"detections", std::move(detections)},
          {"rollbacks", guard.rollback_count},
          {"time_s", guard.time_s},
          {"time_share", guard.time_share}};
}

Json injected_json(const GuardReport& guard) {
  Json flips = Json::array();
  for (const auto& fault : guard.faults) {
    Json flip = Json::object();
    put_place(flip, fault.rank, fault.outer_step, fault.product);
    flip["target"] = target_name(fault);
    flip["made"] = fault.is_made;
    flip["element"] = fault.element;
    flip["bit"] = fault.bit;
    flips.push_back(std::move(flip));
  }
  return {{"seed", guard.options.inject.seed}, {"flips", std::move(flips)}};
}

}  // namespace

Json race_verdict_json(const RaceVerdict& verdict) {
  return verdict.candidate.empty() ? Json(nullptr) : json_of(race_verdict_record(), verdict);
}

Json program_json() { return {{"name", "cg2d"}, {"version", build_info::version}}; }

Json environment_json(const Environment& environment) {
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < environment.ranks.size(); ++rank) {
    const auto& place = environment.ranks[rank];
    ranks.push_back({{"rank", rank}, {"node", place.node}, {"processors", place.processors}});
  }
  return {{"mpi", environment.mpi_version},
          {"blas", environment.blas},
          {"papi", build_info::papi_version.empty() ? Json(nullptr) : Json(build_info::papi_version)},
          {"hwloc", build_info::hwloc_version.empty() ? Json(nullptr) : Json(build_info::hwloc_version)},
          {"compiler", build_info::compiler},
          {"flags", build_info::flags},
          {"build_type", build_info::build_type},
          {"transparent_huge_pages", value_or_null(environment.transparent_huge_pages)},
          {"oversubscribed", environment.oversubscribed},
          {"nodes", json_of_all(node_record(), environment.nodes)},
          {"binding", std::move(ranks)}};
}

Json head_json(const SessionReport& report, int schema_version) {
  return {{"schema_version", schema_version},           {"program", program_json()},
          {"status", status_name(report.code)},         {"reason", report.reason},
          {"exit_code", static_cast<int>(report.code)}, {"warnings", report.warnings}};
}

Json session_environment_json(const SessionReport& report) {
  if (!report.environment) return nullptr;
  auto json = environment_json(*report.environment);
  json["waiting"] = wait_mode_name(report.wait_mode);
  json["thread_binding"] = nullptr;
  if (report.binding) {
    json["thread_binding"] = {{"is_bound", report.binding->is_bound}, {"why_not", report.binding->why_not}};
    for (std::size_t rank = 0; rank < report.binding->ranks.size(); ++rank)
      json["binding"][rank]["threads"] = report.binding->ranks[rank];
  }
  return json;
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

void put_feature_sections(Json& json, const SessionReport& report) {
  if (report.out_of_core) json["out_of_core"] = json_of(out_of_core_record(), *report.out_of_core);
  if (report.checkpoints) json["checkpoints"] = json_of(checkpoint_record(), *report.checkpoints);
  if (report.guard && report.guard->options.checks) json["guard"] = guard_json(*report.guard);
  if (report.guard && report.guard->options.injects) json["injected"] = injected_json(*report.guard);
}

}  // namespace cg2d
