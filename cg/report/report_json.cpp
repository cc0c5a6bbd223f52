// The report for programs. Its schema is run_result.schema.json beside this file.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cg/base/json_values.hpp"
#include "cg/report/build_info.hpp"
#include "cg/report/phase_table.hpp"
#include "cg/report/report.hpp"
#include "cg/report/report_counters.hpp"
#include "cg/report/report_origin.hpp"
#include "cg/report/result_file.hpp"
#include "cg/run/run_report.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {
namespace {

Json environment_of(const RunReport& report) {
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

/// The problem, and figures of its matrix if it was generated.
Json problem_of(const RunReport& report) {
  auto json = problem_json(report.problem);
  if (report.nonzero_count > 0) {
    json["nonzero_count"] = report.nonzero_count;
    json["final_seed"] = report.source_facts.final_seed;
    json["draw_pairs_rejected_as_duplicate"] = report.source_facts.duplicate_pairs;
    json["draw_pairs_rejected_as_out_of_range"] = report.source_facts.out_of_range_pairs;
  }
  return json;
}

Json tuning_json(const RunReport& report) {
  const auto& choice = report.kernel_choice;
  return {{"kernel_by", choice_origin_name(choice.kernel_origin)},
          {"settings_by", choice_origin_name(choice.tuning_origin)},
          {"critical_vector_length", value_or_null(choice.tuning.critical_vector_length)},
          {"prefetch_distance", value_or_null(choice.tuning.prefetch_distance)},
          {"block_width", value_or_null(choice.tuning.block_width)},
          {"profile", report.profile.processor ? Json(report.profile.path) : Json(nullptr)},
          {"no_profile_because", report.profile.absence}};
}

Json configuration_json(const RunReport& report) {
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
  json["tuning"] = tuning_json(report);
  if (report.grid_trial) json["grid"]["trial"] = grid_trial_json(*report.grid_trial);
  if (report.transport_trial) json["transport_trial"] = transport_trial_json(*report.transport_trial);
  return json;
}

Json result_json(const RunReport& report) {
  const auto& problem = report.problem;
  const auto& step = final_step(report);
  const double time_s = median_repeat(report).time_s;
  const double mops = official_flop_count(timed_part(report)) / time_s / 1e6;
  std::optional<bool> is_verified;
  std::optional<double> relative_error;
  if (problem.reference_zeta && report.unfinished.empty()) {
    is_verified = report.code == ExitCode::success;
    relative_error = std::abs(step.zeta - *problem.reference_zeta) / std::abs(*problem.reference_zeta);
  }
  const auto times = repeat_times(report);
  Json times_s = Json::array();
  for (const auto& repeat : report.repeats) times_s.push_back(repeat.time_s);
  return {{"zeta", number_or_null(step.zeta)},
          {"rnorm", number_or_null(step.residual_norm)},
          {"verified", value_or_null(is_verified)},
          {"relative_error", relative_error ? number_or_null(*relative_error) : Json(nullptr)},
          {"time_s", time_s},
          {"mops_total", mops},
          {"mops_per_process", mops / report.configuration.grid.rank_count()},
          {"true_mflops", true_flop_count(timed_part(report), report.nonzero_count) / time_s / 1e6},
          {"repeats",
           {{"count", times.count},
            {"minimum_s", times.minimum},
            {"maximum_s", times.maximum},
            {"lower_quartile_s", times.lower_quartile},
            {"upper_quartile_s", times.upper_quartile},
            {"spread", value_or_null(times.spread())},
            {"times_s", std::move(times_s)}}}};
}

Json outer_steps_json(const RunReport& report) {
  const auto& steps = report.repeats.empty() ? report.unfinished : median_repeat(report).steps;
  Json json = Json::array();
  const auto add = [&](const OuterStep& step) {
    json.push_back({{"step", json.size() + 1},
                    {"zeta", number_or_null(step.zeta)},
                    {"rnorm", number_or_null(step.residual_norm)}});
  };
  if (report.restart && !steps.empty()) std::ranges::for_each(report.restart->earlier_steps, add);
  std::ranges::for_each(steps, add);
  return json;
}

Json restart_json(const RestartFacts& restart, const Problem& problem) {
  const auto& checkpoint = restart.checkpoint;
  return {{"folder", checkpoint.folder},
          {"generation", checkpoint.generation},
          {"earlier_outer_iterations", restart.step_count()},
          {"timed_outer_iterations", problem.niter - restart.step_count()},
          {"rejected", checkpoint.rejected}};
}

Json row_lengths_json(const RowLengths& lengths) {
  return {{"critical_vector_length", lengths.critical_vector_length},
          {"rows", lengths.row_count},
          {"minimum", lengths.shortest},
          {"mean", lengths.mean()},
          {"maximum", lengths.longest},
          {"rows_below", lengths.short_row_count},
          {"nonzeros_below", lengths.short_row_nonzero_count}};
}

Json setup_json(const RunReport& report) {
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < report.ranks.size(); ++rank) {
    const auto& facts = report.ranks[rank];
    ranks.push_back({{"rank", rank},
                     {"nonzeros", facts.nonzero_count},
                     {"row_lengths", row_lengths_json(facts.row_lengths)},
                     {"csr_bytes", report.out_of_core ? Json(nullptr) : Json(facts.csr_bytes)},
                     {"block_bytes", facts.block_bytes},
                     {"peak_bytes", facts.peak_bytes},
                     {"resident_bytes", facts.resident_bytes},
                     {"huge_page_bytes", facts.huge_page_bytes}});
  }
  return {{"generation_s", report.generation_s},
          {"converted", report.converted},
          {"conversion_s", report.out_of_core ? Json(nullptr) : Json(report.conversion_s)},
          {"row_lengths", row_lengths_json(all_row_lengths(report))},
          {"ranks", std::move(ranks)}};
}

Json prediction_json(const Prediction& prediction) {
  return {{"machine", prediction.machine},
          {"total_s", prediction.total_s()},
          {"phases", json_by_phase([&](auto index) { return prediction.phases[index]; })}};
}

std::string write_json(const RunReport& report) { return json_text(report_json(report), 2) + "\n"; }

}  // namespace

namespace {

/// A solve has no outer iterations: its place is an iteration.
void put_place(Json& json, int rank, int outer_step, int product) {
  json["rank"] = rank;
  if (outer_step != of_a_solve) json["outer_step"] = outer_step;
  json[outer_step == of_a_solve ? "iteration" : "product"] = product;
}

}  // namespace

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

Json race_verdict_json(const RaceVerdict& verdict) {
  if (verdict.candidate.empty()) return nullptr;
  return {{"candidate", verdict.candidate},
          {"certainty", certainty_name(verdict.certainty)},
          {"text", verdict.text()}};
}

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

Json program_json() { return {{"name", "cg2d"}, {"version", build_info::version}}; }

Json problem_json(const Problem& problem) {
  return {{"class", problem.class_name},
          {"n", problem.n},
          {"nonzer", problem.nonzer},
          {"niter", problem.niter},
          {"shift", problem.shift},
          {"rcond", Problem::rcond},
          {"reference_zeta", value_or_null(problem.reference_zeta)}};
}

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

Json report_json(const RunReport& report) {
  const bool has_result = !report.repeats.empty();
  Json json{
      {"schema_version", result_schema_version},
      {"program", program_json()},
      {"status", status_name(report.code)},
      {"reason", report.reason},
      {"exit_code", static_cast<int>(report.code)},
      {"warnings", report.warnings},
      {"problem", problem_of(report)},
      {"provenance", report.provenance ? provenance_json(*report.provenance) : Json(nullptr)},
      {"environment", environment_of(report)},
      {"configuration", report.is_resolved ? configuration_json(report) : Json(nullptr)},
      {"setup", report.ranks.empty() ? Json(nullptr) : setup_json(report)},
      {"result", has_result ? result_json(report) : Json(nullptr)},
      {"quiet", quiet_json(report)},
      {"outer_steps", outer_steps_json(report)},
      {"phases", has_result && report.phases_timed ? phase_table_json(phases_of(report)) : Json(nullptr)},
      {"roofline", has_result && report.phases_timed ? roofline_json(phases_of(report)) : Json(nullptr)},
      {"counters", has_result ? counters_json(phases_of(report)) : Json(nullptr)}};
  if (report.out_of_core) json["out_of_core"] = out_of_core_json(*report.out_of_core);
  if (report.restart) json["restart"] = restart_json(*report.restart, report.problem);
  if (report.checkpoints) json["checkpoints"] = checkpoints_json(*report.checkpoints);
  if (report.guard && report.guard->options.checks) json["guard"] = guard_json(*report.guard);
  if (report.guard && report.guard->options.injects) json["injected"] = injected_json(*report.guard);
  if (report.prediction && has_result) json["prediction"] = prediction_json(*report.prediction);
  return json;
}

std::string maker_of(const Environment& environment) {
  return maker_from(program_json(), environment_json(environment));
}

ReportFormat json_report_format() { return {.name = "json", .write = &write_json, .writes_errors = true}; }

}  // namespace cg2d
