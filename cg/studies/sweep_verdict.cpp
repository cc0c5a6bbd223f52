#include "cg/studies/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cg/base/describe.hpp"
#include "cg/base/sample.hpp"
#include "cg/report/grids/grid_differences.hpp"
#include "cg/report/report.hpp"
#include "cg/report/session_document.hpp"
#include "cg/run/session_options.hpp"
#include "cg/studies/sweep_plan.hpp"

namespace cg2d {
namespace {

constexpr std::string_view of_key = "The unique text of a configuration.";

/// "0.873 ms per iteration" of a system; empty for the benchmark.
std::string iteration_text(const MeasuredConfiguration& measured, double time_s) {
  if (!measured.asked.is_system()) return {};
  return fmt::format("{:.4g} ms per iteration", 1e3 * time_s / measured.runs.front().iteration_count);
}

/// At least one alternative has succeeded. name_of: by which they are told apart.
std::string ranking_text(const Ranking& ranking, std::string (ConfiguredProblem::*name_of)() const) {
  std::vector<std::string> names;
  std::vector<double> medians_s;
  for (const auto& one : ranking.alternatives) {
    names.push_back((one.asked.*name_of)());
    medians_s.push_back(sample_of(one.times_s).median);
  }
  const auto reason = verdict_text(ranking.verdict, names, "--repeat", medians_s);
  const auto per_iteration = iteration_text(*ranking.candidate(), medians_s.front());
  const auto named = fmt::format("{} with {:.4g} s{}", names.front(), medians_s.front(),
                                 per_iteration.empty() ? "" : " (" + per_iteration + ")");
  if (ranking.is_decided()) return fmt::format("best is {}, {}", named, reason);
  if (reason.empty()) return named + ": nothing to compare it with";
  return fmt::format("no clear winner: {} (median {:.4g} s{}) was {}", names.front(), medians_s.front(),
                     per_iteration.empty() ? "" : ", " + per_iteration, reason);
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
    return row.ranking.is_decided()                ? "that is the official grid, too"
           : row.ranking.verdict.undecided.empty() ? "it is the official grid"
                                                   : fmt::format("{} is the official grid", name);
  if (row.ranking.may_be_best(cell->asked)) return fmt::format("the official {} may be best", name);
  return fmt::format("the official {} costs {} more", name, gain_text(row.ranking.verdict.against[place]));
}

/// Times of the candidate's rounds, round by round; null for the candidate and for what failed.
void describe_against_best(Members& m, const MeasuredConfiguration& cell, const Ranking& ranking) {
  const auto place = ranking.place_of(cell.asked);
  const bool is_compared = place != 0 && place != ranking.alternatives.size();
  m.derived("against_best", is_compared ? std::optional(ranking.verdict.against[place]) : std::nullopt,
            or_null("Times of the candidate's rounds, round by round; null for the candidate and for what "
                    "failed."));
}

void describe_cell(Members& m, MeasuredConfiguration& cell, const Ranking& ranking) {
  const auto& asked = cell.asked;
  std::vector<std::string> runs;
  for (const auto& run : cell.runs) runs.push_back(run.place);
  bool is_sound = cell.is_sound() && !cell.times_s.empty();
  m.derived("key", asked.key(), meaning(of_key));
  m.derived("grid", asked.arrangement(), meaning("Or the parts of a domain along x, y and z."));
  m.derived("columns", asked.configuration.grid.columns, at_least(0));
  m.derived("rows", asked.configuration.grid.rows, at_least(0));
  m.derived("is_official", is_official(asked), meaning("Whether the official program takes this grid."));
  m.object("configuration", meaning("As asked for, as in a run's result."),
           [&] { describe_axes(m, cell.asked.configuration); });
  m("kernel_used", cell.kernel_used);
  m.derived("status", cell.statuses.empty() ? std::string("success") : cell.statuses.front(),
            meaning("success, or that of the first run that failed."));
  m("reason", cell.reason);
  m.derived("runs", runs, meaning("Those that are compared."));
  m.object_if(is_sound, "times", or_null("null where a run failed."), [&] {
    auto times = m.writes() ? sample_of(cell.times_s) : Sample{};
    describe(m, times);
    m.derived("iteration_s",
              m.writes() && asked.is_system()
                  ? std::optional(times.median / cell.runs.front().iteration_count)
                  : std::nullopt,
              positive("Only of a system: the median by the number of iterations."));
  });
  m.derived("may_be_best", ranking.may_be_best(asked),
            meaning("Whether it is the candidate, or not known to be worse."));
  describe_against_best(m, cell, ranking);
  m.derived("form", asked.is_system() ? std::optional(asked.form) : std::nullopt,
            meaning("Only of a system."));
}

void describe_verdict(Members& m, const Ranking& ranking, const std::string& text) {
  const auto* const found = ranking.candidate();
  const auto candidate = found == nullptr ? std::nullopt : std::optional(found->asked.key());
  std::vector<std::string> undecided;
  for (const auto index : ranking.verdict.undecided)
    undecided.push_back(ranking.alternatives[index].asked.key());
  m.object("verdict", [&] {
    m.derived("candidate", candidate,
              or_null("The one that the others beat least, by the median ratio of paired rounds; decided or "
                      "not; null if all failed."));
    m.derived("best", ranking.is_decided() ? candidate : std::nullopt,
              or_null("The candidate, if it is better than every other one, and there is one; else null."));
    m.derived("certainty", meaning(meaning_of_certainty), [&] { return ranking.verdict.certainty(); });
    m.derived("undecided", undecided, meaning("Those that the candidate is not known to be better than."));
    m.derived("suggested_rounds", ranking.verdict.suggested_rounds,
              or_null(at_least(1,
                               "Rounds that should separate them; null where nothing is undecided, or the "
                               "difference is below the noise.")));
    m.derived("text", text, meaning("For people, as in the tables."));
  });
}

}  // namespace

void describe(Members& m, ChoiceVerdict& choice) {
  m("problem", choice.problem);
  m("ranks", choice.rank_count, at_least(1));
  m("threads", choice.thread_count, at_least(1));
  describe_verdict(m, choice.ranking, m.writes() ? choice_verdict_text(choice) : std::string());
  m.list("alternatives", std::vector(choice.ranking.alternatives),
         meaning("The candidate, then by growing ratio to it; without those that failed."),
         [&](MeasuredConfiguration& cell, std::size_t /*index*/) {
           m.derived("key", cell.asked.key(), meaning(of_key));
           describe_against_best(m, cell, choice.ranking);
         });
}

namespace {

/// The document of a sweep.
struct SweepVerdicts {
  RunVerdicts verdicts;
  std::vector<std::vector<GridDifference>> differences;  ///< of each row of grids
  std::vector<std::string> replaced;                     ///< places of runs
};

void describe_grids(Members& m, GridVerdict& row, std::vector<GridDifference>& differences) {
  const auto& common = row.common;
  m.derived("problem", common.problem);
  m("ranks", row.rank_count, at_least(1));
  m.derived("threads", common.configuration.thread_count, at_least(1));
  describe_verdict(m, row.ranking, m.writes() ? grid_verdict_text(row) : std::string());
  m.list("cells", row.cells, {.meaning = "By growing columns.", .fewest = 1},
         [&](MeasuredConfiguration& cell, std::size_t /*index*/) { describe_cell(m, cell, row.ranking); });
  m("why", differences,
    meaning("The candidate against the next one and the last one, as far as phases were timed in paired "
            "rounds. Times are of a CG step, means over the ranks and over the middle half of the rounds by "
            "the difference of the whole step, so that the parts add up."));
  m.derived("form", common.is_system() ? std::optional(common.form) : std::nullopt,
            meaning("Only of a system: matrix; without one domain or factors."));
  m.derived("storage", common.storage.empty() ? std::nullopt : std::optional(common.storage),
            meaning("Only of runs with --out-of-core: streamed within their memory limit."));
}

void describe(Members& m, SweepVerdicts& sweep) {
  describe_head(m);
  describe_verdict_test(m);
  m.list("grids", sweep.verdicts.grids,
         meaning("One entry for each problem, number of ranks and setting of all other choices: a row of the "
                 "paper's table."),
         [&](GridVerdict& row, std::size_t index) {
           sweep.differences.resize(std::max(sweep.differences.size(), index + 1));
           describe_grids(m, row, sweep.differences[index]);
         });
  m("choices", sweep.verdicts.choices,
    meaning("One entry for each problem, number of ranks and of threads: all of their configurations, "
            "streamed ones only where none in memory has times."));
  m("left_out", sweep.verdicts.left_out, meaning("Runs that are not compared with the others."));
  m("replaced", sweep.replaced,
    meaning("Disturbed runs that were repeated: the last attempt of their round counts."));
}

}  // namespace

std::string grid_verdict_text(const GridVerdict& row) {
  if (row.ranking.candidate() == nullptr) return "no grid succeeded";
  const auto text = ranking_text(row.ranking, &ConfiguredProblem::arrangement);
  return row.common.is_system() ? text : text + "; " + official_text(row);
}

std::string choice_verdict_text(const ChoiceVerdict& choice) {
  if (choice.ranking.candidate() == nullptr) return "nothing succeeded";
  return ranking_text(choice.ranking, &ConfiguredProblem::choices);
}

std::string sweep_verdict_json(const std::vector<ResultRecord>& records) {
  SweepVerdicts sweep{verdicts_of(records), {}, {}};
  for (const auto& row : sweep.verdicts.grids)
    sweep.differences.push_back(differences_from_best(row, records));
  for (const auto& one : records) {
    if (one.is_replaced) sweep.replaced.push_back(one.place);
  }
  return document_text(sweep);
}

void visit_sweep_verdicts(Members& m) { visit_new<SweepVerdicts>(m); }

}  // namespace cg2d
