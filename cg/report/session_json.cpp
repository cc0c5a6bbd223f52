// The parts of results that do not depend on what was measured.

#include "cg/report/session_json.hpp"

#include <nlohmann/json.hpp>

#include "cg/base/json_values.hpp"
#include "cg/report/build_info.hpp"
#include "cg/report/report.hpp"
#include "cg/report/report_origin.hpp"
#include "cg/report/result_file.hpp"
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

Json checkpoints_json(const CheckpointFacts& facts) {
  return {
      {"folder", facts.folder},
      {"count", facts.count},
      {"total_s", facts.total_s},
      {"write_s", facts.write_s},
      {"interval_s", facts.interval_s},
      {"interval_by", facts.is_automatic ? "Young" : "option"},
      {"assumed_failure_interval_s", facts.is_automatic ? Json(assumed_failure_interval_s) : Json(nullptr)},
      {"failure", facts.failure}};
}

Json out_of_core_json(const OutOfCoreFacts& facts) {
  Json ranks = Json::array();
  for (const auto& rank : facts.ranks) {
    ranks.push_back({{"rank", ranks.size()},
                     {"file_bytes", rank.file_bytes},
                     {"panels", rank.panel_count},
                     {"most_panel_bytes", rank.most_panel_bytes},
                     {"resident_panels", rank.memory.resident_count},
                     {"buffers", rank.memory.buffer_count},
                     {"reused", rank.was_there},
                     {"direct", rank.is_direct},
                     {"products", rank.figures.product_count},
                     {"read_bytes", rank.figures.byte_count},
                     {"wait_s", rank.figures.wait_s},
                     {"check_s", rank.figures.check_s},
                     {"product_s", rank.figures.product_s},
                     {"storage_bytes_per_s", rank.storage_bytes_per_s}});
  }
  const auto limits = limits_of(facts);
  return {
      {"folders", facts.folders},
      {"reader", facts.reader},
      {"memory_limit_bytes", facts.memory_limit_bytes > 0 ? Json(facts.memory_limit_bytes) : Json(nullptr)},
      {"write_s", facts.write_s},
      {"device_write_s", facts.device_write_s},
      {"unbound_memory_limit_bytes", limits.unbound_bytes},
      {"in_core_memory_limit_bytes", limits.in_core_bytes},
      {"ranks", std::move(ranks)}};
}

}  // namespace

Json race_verdict_json(const RaceVerdict& verdict) {
  if (verdict.candidate.empty()) return nullptr;
  return {{"candidate", verdict.candidate},
          {"certainty", certainty_name(verdict.certainty)},
          {"text", verdict.text()}};
}

namespace {

Json grid_trial_json(const GridTrial& trial) {
  Json tried = Json::array();
  for (const auto& one : trial.tried) tried.push_back({{"grid", one.grid.name()}, {"step_s", one.step_s}});
  return {{"shortlist_by", trial.shortlist_by},
          {"tried", std::move(tried)},
          {"verdict", race_verdict_json(trial.verdict)},
          {"duration_s", trial.duration_s},
          {"skipped_because", trial.skipped_because}};
}

Json transport_trial_json(const TransportTrial& trial) {
  Json tried = Json::array();
  for (const auto& one : trial.tried) tried.push_back({{"transport", one.name}, {"step_s", one.step_s}});
  Json skipped = Json::array();
  for (const auto& one : trial.skipped) skipped.push_back({{"transport", one.name}, {"reason", one.reason}});
  return {{"from", trial.from_profile ? "profile" : "measurement"},
          {"tried", std::move(tried)},
          {"skipped", std::move(skipped)},
          {"verdict", race_verdict_json(trial.verdict)},
          {"duration_s", trial.duration_s},
          {"kept_in", trial.kept_in.empty() ? Json(nullptr) : Json(trial.kept_in)},
          {"not_kept_because", trial.not_kept_because}};
}

}  // namespace

Json program_json() { return {{"name", "cg2d"}, {"version", build_info::version}}; }

Json environment_json(const Environment& environment) {
  Json nodes = Json::array();
  for (const auto& node : environment.nodes) {
    Json caches = Json::array();
    for (const auto& cache : node.caches) {
      caches.push_back(
          {{"level", cache.level}, {"bytes", cache.byte_count}, {"shared_by_cores", cache.shared_by_cores}});
    }
    nodes.push_back({{"name", node.name},
                     {"processor", node.processor},
                     {"cores", node.core_count},
                     {"ranks", node.rank_count},
                     {"available_bytes", node.memory.available_bytes},
                     {"governor", value_or_null(node.governor)},
                     {"numa_nodes", value_or_null(node.numa_nodes)},
                     {"load_average", value_or_null(node.load_average)},
                     {"caches", std::move(caches)}});
  }
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
          {"nodes", std::move(nodes)},
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
  if (report.grid_trial) json["grid"]["trial"] = grid_trial_json(*report.grid_trial);
  if (report.transport_trial) json["transport_trial"] = transport_trial_json(*report.transport_trial);
  return json;
}

void put_feature_sections(Json& json, const SessionReport& report) {
  if (report.out_of_core) json["out_of_core"] = out_of_core_json(*report.out_of_core);
  if (report.checkpoints) json["checkpoints"] = checkpoints_json(*report.checkpoints);
  if (report.guard && report.guard->options.checks) json["guard"] = guard_json(*report.guard);
  if (report.guard && report.guard->options.injects) json["injected"] = injected_json(*report.guard);
}

}  // namespace cg2d
