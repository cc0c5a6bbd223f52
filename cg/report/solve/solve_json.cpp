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

namespace cg2d {
namespace {

Json system_json(const SystemOptions& options, const SolveReport& report) {
  Json json{{"matrix", options.matrix_text()},
            {"is_assembled", !options.is_matrix_free()},
            {"right_hand_side", vector_text(options.right_hand_side)},
            {"right_hand_side_count", report.right_hand_side_count},
            {"first_guess", vector_text(options.first_guess)},
            {"relative_tolerance", options.relative_tolerance},
            {"absolute_tolerance", options.absolute_tolerance},
            {"most_iterations", options.most_iterations},
            {"preconditioner", options.preconditioner},
            {"variant", options.variant},
            {"cut", cut_text(options)}};
  if (options.symmetrize_tolerance) json["symmetrize"] = *options.symmetrize_tolerance;
  return json;
}

/// Indices from 1, as in the file.
Json symmetrization_json(const Symmetrization& symmetrization) {
  Json json{{"largest_difference", symmetrization.largest_difference}};
  if (symmetrization.largest_difference == 0.0) return json;
  json["row"] = symmetrization.row + 1;
  json["column"] = symmetrization.column + 1;
  return json;
}

Json balance_json(const BlockBalance& balance) {
  return {{"largest", balance.largest}, {"mean", balance.mean}, {"imbalance", balance.imbalance()}};
}

Json setup_json(const SystemOptions& options, const SolveReport& report) {
  const auto& matrix = *report.matrix;
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < report.ranks.size(); ++rank) {
    const auto& figures = report.ranks[rank];
    ranks.push_back({{"rank", rank},
                     {"nonzeros", figures.nonzero_count},
                     {"csr_bytes", report.out_of_core ? Json(nullptr) : Json(figures.csr_bytes)},
                     {"block_bytes", figures.block_bytes},
                     {"peak_bytes", figures.peak_bytes}});
  }
  Json json{{"name", matrix.name},
            {"n", matrix.order},
            {"nonzero_count", matrix.nonzero_count},
            {"read_s", matrix.read_s},
            {"distribute_s", matrix.distribute_s},
            {"conversion_s", report.out_of_core ? Json(nullptr) : Json(matrix.conversion_s)},
            {"preconditioner_s", matrix.preconditioner_s},
            {"ranks", std::move(ranks)}};
  if (matrix.symmetrization) json["symmetrization"] = symmetrization_json(*matrix.symmetrization);
  if (report.matrix_free) return json;
  json["balance"] = balance_json(matrix.balance);
  if (matrix.other_balance)
    json[options.cut == MatrixCut::nonzeros ? "balance_of_even_pieces" : "balance_by_nonzeros"] =
        balance_json(*matrix.other_balance);
  return json;
}

Json kernel_trial_json(const KernelTrial& trial) {
  Json tried = Json::array();
  for (const auto& one : trial.tried) tried.push_back({{"kernel", one.name}, {"step_s", one.step_s}});
  Json skipped = Json::array();
  for (const auto& one : trial.skipped) skipped.push_back({{"kernel", one.name}, {"reason", one.reason}});
  return {{"tried", std::move(tried)},
          {"skipped", std::move(skipped)},
          {"verdict", race_verdict_json(trial.verdict)},
          {"duration_s", trial.duration_s},
          {"skipped_because", trial.skipped_because}};
}

Json configuration_of(const SolveReport& report) {
  auto json = session_configuration_json(report);
  if (report.kernel_trial) json["kernel_trial"] = kernel_trial_json(*report.kernel_trial);
  if (report.matrix_free) json["matrix_free_cut"] = report.matrix_free->cut;
  return json;
}

Json spectrum_json(const Solution& solution) {
  const auto& spectrum = solution.spectrum;
  if (spectrum.step_count == 0) return nullptr;
  return {{"smallest", number_or_null(spectrum.smallest)},
          {"largest", number_or_null(spectrum.largest)},
          {"condition_number", number_or_null(spectrum.condition_number())},
          {"predicted_iterations", number_or_null(solution.predicted_steps)}};
}

Json solution_json(const Solution& solution) {
  const auto& result = solution.result;
  Json history = Json::array();
  for (const double norm : solution.history) history.push_back(number_or_null(norm));
  return {{"end", name_of(result.end)},
          {"iterations", result.step_count},
          {"restarts", result.replacement_count},
          {"classic_iterations", result.classic_step_count},
          {"right_hand_side_norm", number_or_null(result.right_hand_side_norm)},
          {"target_norm", number_or_null(solution.target_norm)},
          {"first_residual_norm", number_or_null(result.first_residual_norm)},
          {"recursive_residual_norm", number_or_null(solution.recursive_residual_norm())},
          {"residual_norm", number_or_null(result.true_residual_norm)},
          {"preconditioner_remark", solution.preconditioner_remark},
          {"spectrum", spectrum_json(solution)},
          {"history", std::move(history)}};
}

/// The end of the worst one of several right-hand sides comes first, as that of a single one.
Json result_json(const SolveReport& report) {
  auto json = solution_json(*report.solution);
  json["time_s"] = report.repeat.time_s;
  for (const auto& solution : report.solutions) json["right_hand_sides"].push_back(solution_json(solution));
  return json;
}

std::string write_json(const SystemOptions& options, const SolveReport& report) {
  return json_text(solve_json(options, report), 2) + "\n";
}

}  // namespace

Json solve_json(const SystemOptions& options, const SolveReport& report) {
  const bool has_phases = report.solution && timed_step_count(report) > 0;
  auto json = head_json(report, solve_schema_version);
  json.update({{"system", system_json(options, report)},
               {"provenance", report.provenance ? provenance_json(*report.provenance) : Json(nullptr)},
               {"environment", session_environment_json(report)},
               {"configuration", report.is_resolved ? configuration_of(report) : Json(nullptr)},
               {"setup", report.ranks.empty() ? Json(nullptr) : setup_json(options, report)},
               {"result", report.solution ? result_json(report) : Json(nullptr)},
               {"phases", has_phases ? phase_table_json(phase_figures(report)) : Json(nullptr)},
               {"roofline", has_phases ? roofline_json(phase_figures(report)) : Json(nullptr)},
               {"counters", has_phases ? counters_json(phase_figures(report)) : Json(nullptr)}});
  if (report.restart) {
    const auto& checkpoint = report.restart->checkpoint;
    json["restart"] = {{"folder", checkpoint.folder},
                       {"generation", checkpoint.generation},
                       {"earlier_iterations", report.restart->state.number},
                       {"rejected", checkpoint.rejected}};
  }
  put_feature_sections(json, report, GuardedWorkload::solve);
  if (report.quiet)
    json["quiet"] = {{"disturbed", report.quiet->is_disturbed()}, {"reason", report.quiet->reason()}};
  return json;
}

SolveFormat json_solve_format() { return {.name = "json", .write = &write_json, .writes_errors = true}; }

}  // namespace cg2d
