// The report for programs. Its schema is run_result.schema.json beside this file.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cg/base/json_values.hpp"
#include "cg/report/phase_table.hpp"
#include "cg/report/report.hpp"
#include "cg/report/report_counters.hpp"
#include "cg/report/report_origin.hpp"
#include "cg/report/result_file.hpp"
#include "cg/report/session_json.hpp"
#include "cg/report/session_record.hpp"
#include "cg/run/run_report.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {
namespace {

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

Json configuration_of(const RunReport& report) {
  auto json = session_configuration_json(report);
  json["tuning"] = tuning_json(report);
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

Json setup_json(const RunReport& report) {
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < report.ranks.size(); ++rank) {
    const auto& facts = report.ranks[rank];
    ranks.push_back({{"rank", rank},
                     {"nonzeros", facts.nonzero_count},
                     {"row_lengths", json_of(row_length_record(), facts.row_lengths)},
                     {"csr_bytes", report.out_of_core ? Json(nullptr) : Json(facts.csr_bytes)},
                     {"block_bytes", facts.block_bytes},
                     {"peak_bytes", facts.peak_bytes},
                     {"resident_bytes", facts.resident_bytes},
                     {"huge_page_bytes", facts.huge_page_bytes}});
  }
  return {{"generation_s", report.generation_s},
          {"converted", report.converted},
          {"conversion_s", report.out_of_core ? Json(nullptr) : Json(report.conversion_s)},
          {"row_lengths", json_of(row_length_record(), all_row_lengths(report))},
          {"ranks", std::move(ranks)}};
}

Json prediction_json(const Prediction& prediction) {
  return {{"machine", prediction.machine},
          {"total_s", prediction.total_s()},
          {"phases", json_by_phase([&](auto index) { return prediction.phases[index]; })}};
}

std::string write_json(const RunReport& report) { return json_text(report_json(report), 2) + "\n"; }

}  // namespace

Json problem_json(const Problem& problem) {
  return {{"class", problem.class_name},
          {"n", problem.n},
          {"nonzer", problem.nonzer},
          {"niter", problem.niter},
          {"shift", problem.shift},
          {"rcond", Problem::rcond},
          {"reference_zeta", value_or_null(problem.reference_zeta)}};
}

Json report_json(const RunReport& report) {
  const bool has_result = !report.repeats.empty();
  auto json = head_json(report, result_schema_version);
  json.update({{"problem", problem_of(report)},
               {"provenance", report.provenance ? provenance_json(*report.provenance) : Json(nullptr)},
               {"environment", session_environment_json(report)},
               {"configuration", report.is_resolved ? configuration_of(report) : Json(nullptr)},
               {"setup", report.ranks.empty() ? Json(nullptr) : setup_json(report)},
               {"result", has_result ? result_json(report) : Json(nullptr)},
               {"quiet", quiet_json(report)},
               {"outer_steps", outer_steps_json(report)}});
  const bool has_phases = has_result && report.phases_timed;
  json["phases"] = has_phases ? phase_table_json(phases_of(report)) : Json(nullptr);
  json["roofline"] = has_phases ? roofline_json(phases_of(report)) : Json(nullptr);
  json["counters"] = has_result ? counters_json(phases_of(report)) : Json(nullptr);
  if (report.restart) json["restart"] = restart_json(*report.restart, report.problem);
  put_feature_sections(json, report);
  if (report.prediction && has_result) json["prediction"] = prediction_json(*report.prediction);
  return json;
}

std::string maker_of(const Environment& environment) {
  return maker_from(program_json(), environment_json(environment));
}

ReportFormat json_report_format() { return {.name = "json", .write = &write_json, .writes_errors = true}; }

}  // namespace cg2d
