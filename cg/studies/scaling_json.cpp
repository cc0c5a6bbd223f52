// The comparison of ways for programs. Its schema is scaling_result.schema.json beside this file.

#include <nlohmann/json.hpp>

#include "cg/base/json_values.hpp"
#include "cg/report/report.hpp"
#include "cg/report/report_origin.hpp"
#include "cg/report/session_json.hpp"
#include "cg/studies/scaling_table.hpp"

namespace cg2d {
namespace {

constexpr int scaling_schema_version = 4;

Json options_json(const ScalingStudy& study) {
  return {{"problem", problem_json(study.problem)},
          {"cores", study.core_counts},
          {"transports", study.transports},
          {"kernel", study.configuration.kernel},
          {"rounds", study.round_count}};
}

Json round_json(const ScalingRun& run) {
  Json json{{"round", run.round},
            {"status", status_name(run.code)},
            {"reason", run.reason},
            {"exit_code", static_cast<int>(run.code)}};
  const bool is_there = run.succeeded();
  json["time_s"] = is_there ? Json(run.time_s) : Json(nullptr);
  json["zeta"] = is_there ? number_or_null(run.zeta) : Json(nullptr);
  json["moving_share"] = is_there ? Json(run.shares.moving) : Json(nullptr);
  json["waiting_share"] = is_there ? Json(run.shares.waiting) : Json(nullptr);
  json["disturbed"] = run.is_disturbed();
  json["disturbance"] = run.disturbance;
  return json;
}

Json figures_json(const ScalingRow& row) {
  if (!row.is_sound()) return nullptr;
  const auto& configuration = *row.median_run.configuration;
  return {{"grid", configuration.grid.name()},
          {"kernel", configuration.kernel},
          {"median_s", row.time_s->median},
          {"minimum_s", row.time_s->minimum},
          {"maximum_s", row.time_s->maximum},
          {"spread", value_or_null(row.time_s->spread())},
          {"mops_total", row.mops_total},
          {"speed_up", value_or_null(row.speed_up)},
          {"efficiency", value_or_null(row.efficiency)},
          {"moving_share", row.median_run.shares.moving},
          {"waiting_share", row.median_run.shares.waiting},
          {"ratio_to_best", row.ratio_to_best},
          {"is_candidate", row.is_candidate},
          {"is_best", row.is_best()},
          {"may_be_best", row.may_be_best},
          {"is_decided", row.certainty == Certainty::decided},
          {"certainty", certainty_name(row.certainty)}};
}

Json ways_json(const ScalingStudy& study) {
  Json ways = Json::array();
  for (const auto& row : rows_of(study)) {
    const auto& way = row.way;
    Json rounds = Json::array();
    for (const auto& run : row.runs) rounds.push_back(round_json(run));
    ways.push_back({{"cores", way.core_count()},
                    {"way", way.name()},
                    {"transport", way.configuration.transport},
                    {"ranks", way.rank_count},
                    {"threads", way.configuration.thread_count},
                    {"n", scaled_problem(study.problem, way.core_count(), study.weak).n},
                    {"figures", figures_json(row)},
                    {"rounds", std::move(rounds)}});
  }
  return ways;
}

Json verification_json(const ScalingStudy& study) {
  Json problems = Json::array();
  for (const auto& agreement : agreements_of(study)) {
    const auto& problem = agreement.problem;
    problems.push_back({{"n", problem.n},
                        {"reference_zeta", value_or_null(problem.reference_zeta)},
                        {"runs", agreement.run_count},
                        {"zeta_minimum", number_or_null(agreement.minimum)},
                        {"zeta_maximum", number_or_null(agreement.maximum)},
                        {"relative_difference", number_or_null(agreement.relative_difference())},
                        {"agrees", agreement.holds()}});
  }
  return problems;
}

std::string write_scaling_json(const ScalingStudy& study) {
  const auto verdict = verdict_on(study);
  const Json json{{"schema_version", scaling_schema_version},
                  {"program", program_json()},
                  {"status", status_name(verdict.code)},
                  {"reason", verdict.reason},
                  {"exit_code", static_cast<int>(verdict.code)},
                  {"warnings", study.warnings},
                  {"scaling", study.weak ? "weak" : "strong"},
                  {"options", options_json(study)},
                  {"provenance", study.provenance ? provenance_json(*study.provenance) : Json(nullptr)},
                  {"machine", machine_json(study.machine)},
                  {"verification", verification_json(study)},
                  {"ways", ways_json(study)}};
  return json_text(json, 2) + "\n";
}

}  // namespace

Json machine_json(const std::optional<Environment>& seen) {
  if (!seen) return nullptr;
  const auto environment = environment_json(*seen);
  Json machine = Json::object();
  for (const auto* key : {"mpi", "blas", "compiler", "flags", "build_type", "nodes", "binding"})
    machine[key] = environment.at(key);
  return machine;
}

ScalingFormat json_scaling_format() { return {.name = "json", .write = &write_scaling_json}; }

}  // namespace cg2d
