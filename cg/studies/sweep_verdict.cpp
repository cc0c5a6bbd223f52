#include "cg/studies/sweep_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cg/base/json_values.hpp"
#include "cg/base/json_verdicts.hpp"
#include "cg/base/sample.hpp"
#include "cg/report/grids/grid_difference_json.hpp"
#include "cg/report/report.hpp"
#include "cg/report/session_record.hpp"
#include "cg/run/run_options.hpp"
#include "cg/studies/sweep_plan.hpp"

namespace cg2d {
namespace {

using Json = nlohmann::ordered_json;

constexpr int verdict_schema_version = 1;

/// " (0.873 ms per iteration)" of a system.
std::string iteration_text(const MeasuredConfiguration& measured, double time_s) {
  if (!measured.asked.is_system()) return {};
  return fmt::format(" ({:.4g} ms per iteration)", 1e3 * time_s / measured.runs.front().iteration_count);
}

/// names: those of the alternatives. Nothing succeeded: nothing.
std::string ranking_text(const Ranking& ranking, const std::vector<std::string>& names) {
  if (ranking.candidate() == nullptr) return {};
  const double time_s = sample_of(ranking.candidate()->times_s).median;
  const auto reason = verdict_text(ranking.verdict, names, "--repeat");
  const auto per_iteration = iteration_text(*ranking.candidate(), time_s);
  const auto named = fmt::format("{} with {:.4g} s{}", names.front(), time_s, per_iteration);
  if (ranking.is_decided()) return fmt::format("best is {}, {}", named, reason);
  return reason.empty() ? named + ": nothing to compare it with" : fmt::format("{} is {}", named, reason);
}

/// The official grid beside the best one.
std::string official_text(const GridVerdict& row) {
  const auto official = official_grid(row.rank_count);
  if (!official) return "no official grid (not a power of two)";
  const auto name = official->name();
  const auto cell = std::ranges::find_if(
      row.cells, [&](const auto& one) { return one.asked.configuration.grid == *official; });
  if (cell == row.cells.end()) return fmt::format("the official {} was not measured", name);
  if (!cell->is_sound()) return fmt::format("the official {} failed", name);
  const auto place = row.ranking.place_of(cell->asked);
  if (place == 0)
    return row.ranking.is_decided() ? "that is the official grid, too" : "it is the official grid";
  if (row.ranking.may_be_best(cell->asked)) return fmt::format("the official {} is among these", name);
  return fmt::format("the official {} costs {} more", name, gain_text(row.ranking.verdict.against[place]));
}

/// The ratio to the best alternative; null for that one, and for what failed.
Json against_best_json(const Ranking& ranking, const ConfiguredProblem& asked) {
  const auto place = ranking.place_of(asked);
  if (place == 0 || place == ranking.alternatives.size()) return nullptr;
  return ratio_json(ranking.verdict.against[place]);
}

Json times_of_cell(const MeasuredConfiguration& cell) {
  if (!cell.is_sound()) return nullptr;
  const auto sample = sample_of(cell.times_s);
  auto json = times_json(sample);
  if (cell.asked.is_system()) json["iteration_s"] = sample.median / cell.runs.front().iteration_count;
  return json;
}

Json cell_json(const MeasuredConfiguration& cell, const Ranking& ranking) {
  const auto& grid = cell.asked.configuration.grid;
  Json configuration = Json::object();
  put_axes(configuration, cell.asked.configuration, AxesIn::a_report);
  Json runs = Json::array();
  for (const auto& run : cell.runs) runs.push_back(run.place);
  Json json{{"key", cell.asked.key()},
            {"grid", cell.asked.arrangement()},
            {"columns", grid.columns},
            {"rows", grid.rows},
            {"is_official", is_official(cell.asked)},
            {"configuration", std::move(configuration)},
            {"kernel_used", cell.kernel_used},
            {"status", cell.statuses.empty() ? "success" : cell.statuses.front()},
            {"reason", cell.reason},
            {"runs", std::move(runs)},
            {"times", times_of_cell(cell)},
            {"may_be_best", ranking.may_be_best(cell.asked)},
            {"against_best", against_best_json(ranking, cell.asked)}};
  if (cell.asked.is_system()) json["cut"] = cell.asked.cut;
  return json;
}

Json verdict_json(const Ranking& ranking, const std::string& text) {
  Json undecided = Json::array();
  for (const auto index : ranking.verdict.undecided)
    undecided.push_back(ranking.alternatives[index].asked.key());
  const auto* const candidate = ranking.candidate();
  const auto key = candidate == nullptr ? Json(nullptr) : Json(candidate->asked.key());
  return {{"candidate", key},
          {"best", ranking.is_decided() ? key : Json(nullptr)},
          {"certainty", certainty_name(ranking.verdict.certainty())},
          {"undecided", std::move(undecided)},
          {"suggested_rounds", value_or_null(ranking.verdict.suggested_rounds)},
          {"text", text}};
}

Json grid_json(const GridVerdict& row, const std::vector<ResultRecord>& records) {
  Json cells = Json::array();
  for (const auto& cell : row.cells) cells.push_back(cell_json(cell, row.ranking));
  Json json{{"problem", row.common.problem},
            {"ranks", row.rank_count},
            {"threads", row.common.configuration.thread_count},
            {"verdict", verdict_json(row.ranking, grid_verdict_text(row))},
            {"cells", std::move(cells)},
            {"why", row_differences_json(row, records)}};
  if (row.common.is_system()) json["cut"] = row.common.cut;
  if (!row.common.storage.empty()) json["storage"] = row.common.storage;
  return json;
}

Json choice_json(const ChoiceVerdict& choice) {
  Json alternatives = Json::array();
  for (const auto& one : choice.ranking.alternatives)
    alternatives.push_back(
        {{"key", one.asked.key()}, {"against_best", against_best_json(choice.ranking, one.asked)}});
  return {{"problem", choice.problem},
          {"ranks", choice.rank_count},
          {"threads", choice.thread_count},
          {"verdict", verdict_json(choice.ranking, choice_verdict_text(choice))},
          {"alternatives", std::move(alternatives)}};
}

}  // namespace

std::string grid_verdict_text(const GridVerdict& row) {
  if (row.ranking.candidate() == nullptr) return "no grid succeeded";
  std::vector<std::string> names;
  for (const auto& one : row.ranking.alternatives) names.push_back(one.asked.arrangement());
  const auto text = ranking_text(row.ranking, names);
  return row.common.is_system() ? text : text + "; " + official_text(row);
}

std::string choice_verdict_text(const ChoiceVerdict& choice) {
  if (choice.ranking.candidate() == nullptr) return "nothing succeeded";
  std::vector<std::string> names;
  for (const auto& one : choice.ranking.alternatives) names.push_back(one.asked.choices());
  return ranking_text(choice.ranking, names);
}

std::string sweep_verdict_json(const std::vector<ResultRecord>& records) {
  const auto verdicts = verdicts_of(records);
  Json grids = Json::array();
  for (const auto& row : verdicts.grids) grids.push_back(grid_json(row, records));
  Json choices = Json::array();
  for (const auto& choice : verdicts.choices) choices.push_back(choice_json(choice));
  Json left_out = Json::array();
  for (const auto& run : verdicts.left_out)
    left_out.push_back({{"place", run.place}, {"key", run.key}, {"reason", run.reason}});
  Json replaced = Json::array();
  for (const auto& record : records) {
    if (record.is_replaced) replaced.push_back(record.place);
  }
  return json_text({{"schema_version", verdict_schema_version},
                    {"program", program_json()},
                    {"test", verdict_test_json()},
                    {"grids", std::move(grids)},
                    {"choices", std::move(choices)},
                    {"left_out", std::move(left_out)},
                    {"replaced", std::move(replaced)}},
                   2) +
         "\n";
}

}  // namespace cg2d
