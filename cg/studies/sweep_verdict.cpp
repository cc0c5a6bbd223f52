#include "cg/studies/sweep_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cg/base/json_verdicts.hpp"
#include "cg/base/sample.hpp"
#include "cg/report/grids/grid_difference_json.hpp"
#include "cg/report/report.hpp"
#include "cg/report/session_record.hpp"
#include "cg/run/run_options.hpp"
#include "cg/studies/sweep_plan.hpp"

namespace cg2d {
namespace {

FigureType place_type() {
  return named_type("place", with(text_type(), "description", "FILE, or FILE:LINE."));
}
FigureType key_type() {
  return named_type("key",
                    with(pattern_type("^[^\\r\\n]+$"), "description", "The unique text of a configuration."));
}

/// "0.873 ms per iteration" of a system; empty for the benchmark.
std::string iteration_text(const MeasuredConfiguration& measured, double time_s) {
  if (!measured.asked.is_system()) return {};
  return fmt::format("{:.4g} ms per iteration", 1e3 * time_s / measured.runs.front().iteration_count);
}

/// names: those of the alternatives. Nothing succeeded: nothing.
std::string ranking_text(const Ranking& ranking, const std::vector<std::string>& names) {
  if (ranking.candidate() == nullptr) return {};
  std::vector<double> medians_s;
  for (const auto& one : ranking.alternatives) medians_s.push_back(sample_of(one.times_s).median);
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

/// A configuration and its place in a ranking.
struct RankedCell {
  const MeasuredConfiguration& cell;
  const Ranking& ranking;
};

Figure<RankedCell> key_figure() {
  return {"key", key_type(), [](const auto& ranked) { return ranked.cell.asked.key(); }};
}

Figure<RankedCell> against_best_figure() {
  return part<RankedCell>(
      "against_best", ratio_record(),
      [](const RankedCell& ranked) -> const RatioInterval* {
        const auto place = ranked.ranking.place_of(ranked.cell.asked);
        return place == 0 || place == ranked.ranking.alternatives.size()
                   ? nullptr
                   : &ranked.ranking.verdict.against[place];
      },
      "Times of the candidate's rounds, round by round; null for the candidate and for what failed.");
}

/// Times of a configuration that is sound.
struct CellTimes {
  const MeasuredConfiguration& cell;
  Sample sample;
};

const Record<CellTimes>& cell_times_record() {
  static const auto record =
      with(Record<CellTimes>(figures_of_part<CellTimes>(times_record(), &CellTimes::sample)),
           {{"iteration_s", positive_seconds_type(),
             [](const auto& times) {
               return times.cell.asked.is_system()
                          ? std::optional(times.sample.median / times.cell.runs.front().iteration_count)
                          : std::nullopt;
             },
             "Only of a system: the median by the number of iterations.", Presence::if_known}});
  return record;
}

std::optional<CellTimes> times_of(const RankedCell& ranked) {
  if (!ranked.cell.is_sound()) return std::nullopt;
  return CellTimes{ranked.cell, sample_of(ranked.cell.times_s)};
}

const Record<RankedCell>& cell_record() {
  static const Record<RankedCell> record{
      "cell",
      {key_figure(),
       {"grid", pattern_type("^[0-9]+x[0-9]+(x[0-9]+)?$"),
        [](const auto& ranked) { return ranked.cell.asked.arrangement(); },
        "Or the parts of a domain along x, y and z."},
       {"columns", count_type(),
        [](const auto& ranked) { return ranked.cell.asked.configuration.grid.columns; }},
       {"rows", count_type(), [](const auto& ranked) { return ranked.cell.asked.configuration.grid.rows; }},
       {"is_official", flag_type(), [](const auto& ranked) { return is_official(ranked.cell.asked); },
        "Whether the official program takes this grid."},
       part<RankedCell>(
           "configuration", axis_record(AxesIn::a_report),
           [](const RankedCell& ranked) -> auto& { return ranked.cell.asked.configuration; },
           "As asked for, as in a run's result."),
       {"kernel_used", text_type(), [](const auto& ranked) { return ranked.cell.kernel_used; }},
       {"status", text_type(),
        [](const auto& ranked) {
          return ranked.cell.statuses.empty() ? std::string("success") : ranked.cell.statuses.front();
        },
        "success, or that of the first run that failed."},
       {"reason", text_type(), [](const auto& ranked) { return ranked.cell.reason; }},
       {"runs", list_type(place_type()),
        [](const auto& ranked) {
          Json runs = Json::array();
          for (const auto& run : ranked.cell.runs) runs.push_back(run.place);
          return runs;
        },
        "Those that are compared."},
       part<RankedCell>("times", cell_times_record(), times_of, "null where a run failed."),
       {"may_be_best", flag_type(),
        [](const auto& ranked) { return ranked.ranking.may_be_best(ranked.cell.asked); },
        "Whether it is the candidate, or not known to be worse."},
       against_best_figure(),
       {"form", name_type(),
        [](const auto& ranked) {
          return ranked.cell.asked.is_system() ? Json(ranked.cell.asked.form) : absent();
        },
        "Only of a system.", Presence::if_known}}};
  return record;
}

/// A verdict, and its text.
struct SeenVerdict {
  const Ranking& ranking;
  std::string text;
};

std::optional<std::string> candidate_key(const SeenVerdict& seen) {
  const auto* const candidate = seen.ranking.candidate();
  return candidate == nullptr ? std::nullopt : std::optional(candidate->asked.key());
}

const Record<SeenVerdict>& verdict_record() {
  static const Record<SeenVerdict> record{
      "verdict",
      {{"candidate", or_null(key_type()), candidate_key,
        "The one that the others beat least, by the median ratio of paired rounds; decided or not; null if "
        "all "
        "failed."},
       {"best", or_null(key_type()),
        [](const auto& seen) { return seen.ranking.is_decided() ? candidate_key(seen) : std::nullopt; },
        "The candidate, if it is better than every other one, and there is one; else null."},
       {"certainty", certainty_type(),
        [](const auto& seen) { return certainty_name(seen.ranking.verdict.certainty()); }},
       {"undecided", list_type(key_type()),
        [](const auto& seen) {
          Json undecided = Json::array();
          for (const auto index : seen.ranking.verdict.undecided)
            undecided.push_back(seen.ranking.alternatives[index].asked.key());
          return undecided;
        },
        "Those that the candidate is not known to be better than."},
       {"suggested_rounds", or_null(positive_count_type()),
        [](const auto& seen) { return seen.ranking.verdict.suggested_rounds; },
        "Rounds that should separate them; null where nothing is undecided, or the difference is below the "
        "noise."},
       {"text", text_type(), &SeenVerdict::text, "For people, as in the tables."}}};
  return record;
}

std::vector<RankedCell> ranked(const std::vector<MeasuredConfiguration>& cells, const Ranking& ranking) {
  std::vector<RankedCell> all;
  all.reserve(cells.size());
  for (const auto& cell : cells) all.push_back({cell, ranking});
  return all;
}

/// The grids of some ranks, and all records.
struct SeenGrids {
  const GridVerdict& row;
  const std::vector<ResultRecord>& records;
};

const Record<SeenGrids>& grids_record() {
  static const Record<SeenGrids> record{
      "grids_of_ranks",
      {{"problem", text_type(), [](const auto& seen) { return seen.row.common.problem; }},
       {"ranks", positive_count_type(), [](const auto& seen) { return seen.row.rank_count; }},
       {"threads", positive_count_type(),
        [](const auto& seen) { return seen.row.common.configuration.thread_count; }},
       part<SeenGrids>("verdict", verdict_record(),
                       [](const SeenGrids& seen) {
                         return SeenVerdict{seen.row.ranking, grid_verdict_text(seen.row)};
                       }),
       list_figure<SeenGrids>(
           "cells", cell_record(),
           [](const SeenGrids& seen) { return ranked(seen.row.cells, seen.row.ranking); },
           "By growing columns.", 1),
       list_figure<SeenGrids>(
           "why", grid_difference_record(),
           [](const SeenGrids& seen) { return differences_from_best(seen.row, seen.records); },
           "The candidate against the next one and the last one, as far as phases were timed in paired "
           "rounds."),
       {"form", name_type(),
        [](const auto& seen) { return seen.row.common.is_system() ? Json(seen.row.common.form) : absent(); },
        "Only of a system: matrix; without one domain or factors.", Presence::if_known},
       {"storage", name_type(),
        [](const auto& seen) {
          return seen.row.common.storage.empty() ? absent() : Json(seen.row.common.storage);
        },
        "Only of runs with --out-of-core: streamed within their memory limit.", Presence::if_known}}};
  return record;
}

const Record<ChoiceVerdict>& choice_verdict_record() {
  static const Record<RankedCell> alternative{"alternative", {key_figure(), against_best_figure()}};
  static const Record<ChoiceVerdict> record{
      "choice",
      {{"problem", text_type(), &ChoiceVerdict::problem},
       {"ranks", positive_count_type(), &ChoiceVerdict::rank_count},
       {"threads", positive_count_type(), &ChoiceVerdict::thread_count},
       part<ChoiceVerdict>("verdict", verdict_record(),
                           [](const ChoiceVerdict& choice) {
                             return SeenVerdict{choice.ranking, choice_verdict_text(choice)};
                           }),
       list_figure<ChoiceVerdict>(
           "alternatives", alternative,
           [](const ChoiceVerdict& choice) { return ranked(choice.ranking.alternatives, choice.ranking); },
           "The candidate, then by growing ratio to it; without those that failed.")}};
  return record;
}

const Record<LeftOutRun>& left_out_record() {
  static const Record<LeftOutRun> record{"left_out",
                                         {{"place", place_type(), &LeftOutRun::place},
                                          {"key", key_type(), &LeftOutRun::key},
                                          {"reason", name_type(), &LeftOutRun::reason}}};
  return record;
}

/// All verdicts on some records.
struct SeenVerdicts {
  const std::vector<ResultRecord>& records;
  RunVerdicts verdicts;
};

const Record<SeenVerdicts>& verdicts_record() {
  static const Record<SeenVerdicts> record{
      {{"schema_version", constant_type(1), [](const auto& /*seen*/) { return 1; }},
       {"program", type_of(program_record()), [](const auto& /*seen*/) { return program_json(); }},
       {"test", type_of(verdict_test_record()), [](const auto& /*seen*/) { return verdict_test_json(); }},
       list_figure<SeenVerdicts>(
           "grids", grids_record(),
           [](const SeenVerdicts& seen) {
             std::vector<SeenGrids> grids;
             for (const auto& row : seen.verdicts.grids) grids.push_back({row, seen.records});
             return grids;
           },
           "One entry for each problem, number of ranks and setting of all other choices: a row of the "
           "paper's "
           "table."),
       list_figure<SeenVerdicts>(
           "choices", choice_verdict_record(),
           [](const SeenVerdicts& seen) -> auto& { return seen.verdicts.choices; },
           "One entry for each problem, number of ranks and of threads: all of their configurations, "
           "streamed "
           "ones only where none in memory has times."),
       list_figure<SeenVerdicts>(
           "left_out", left_out_record(),
           [](const SeenVerdicts& seen) -> auto& { return seen.verdicts.left_out; },
           "Runs that are not compared with the others."),
       {"replaced", list_type(place_type()),
        [](const auto& seen) {
          Json replaced = Json::array();
          for (const auto& one : seen.records) {
            if (one.is_replaced) replaced.push_back(one.place);
          }
          return replaced;
        },
        "Disturbed runs that were repeated: the last attempt of their round counts."}}};
  return record;
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
  return json_text(json_of(verdicts_record(), {records, verdicts_of(records)}), 2) + "\n";
}

FigureType sweep_verdict_type() { return type_of(verdicts_record()); }

}  // namespace cg2d
