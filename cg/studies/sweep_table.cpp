#include "cg/studies/sweep.hpp"

#include <fmt/ranges.h>

#include <set>

#include "cg/base/table.hpp"

namespace cg2d {
namespace {

constexpr std::string_view of_key = "The unique text of a configuration.";

/// Whether the configuration has the official program's grid. Systems have no official program.
bool is_official(const ConfiguredProblem& asked) {
  const auto& grid = asked.configuration.grid;
  return !asked.is_system() && official_grid(grid.rank_count()) == grid;
}

/// "best is 4x1 with 0.0873 s, better than 2x2 by 12 % (8 ... 15 %); the official 2x2 costs 12 % (8 ... 15 %)
/// more", or the grids that cannot be told from the best one. Without a full stop.
std::string grid_verdict_text(const GridVerdict& row) {
  const auto text = ranking_text(row.ranking, &ConfiguredProblem::arrangement, "no grid");
  const auto& [alternatives, verdict] = row.ranking;
  if (row.common.is_system() || alternatives.empty()) return text;
  const auto official = official_grid(row.rank_count);
  if (!official) return text + "; no official grid (not a power of two)";
  const auto name = official->name();
  const auto known = std::ranges::find(
      alternatives, *official, [](const MeasuredConfiguration& one) { return one.asked.configuration.grid; });
  if (known == alternatives.begin()) return fmt::format("{}; {} is the official grid", text, name);
  return fmt::format(
      "{}; the official {} {}", text, name,
      known == alternatives.end() ? "failed, or was not measured"
      : row.ranking.may_be_best(known->asked)
          ? "may be best"
          : fmt::format("costs {} more",
                        gain_text(verdict.against[static_cast<size_t>(known - alternatives.begin())])));
}

/// Times of the candidate's rounds, round by round; null for the candidate and for what failed.
void describe_against_best(Members& m, const MeasuredConfiguration& cell, const Ranking& ranking) {
  const auto place = ranking.place_of(cell.asked);
  const bool is_compared = place != 0 && place != ranking.alternatives.size();
  m.derived("against_best", is_compared ? std::optional(ranking.verdict.against[place]) : std::nullopt,
            or_null("By the candidate's times, round by round; null for it and for what failed."));
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
    const bool has_iterations = m.writes() && asked.is_system();
    m.if_given("iteration_s", has_iterations ? times.median / cell.runs.front().iteration_count : 0.0,
               has_iterations, positive("Only of a system: the median by the number of iterations."));
  });
  m.derived("may_be_best", ranking.may_be_best(asked), meaning("The candidate, or not known to be worse."));
  describe_against_best(m, cell, ranking);
  m.if_given("form", cell.asked.form, asked.is_system(), meaning("Only of a system."));
}

void describe_verdict(Members& m, GridVerdict& row, const std::string& text) {
  m("problem", row.common.problem);
  m("ranks", row.rank_count, at_least(1));
  m("threads", row.common.configuration.thread_count, at_least(1));
  const auto& ranking = row.ranking;
  const auto* const found = ranking.candidate();
  const auto candidate = found == nullptr ? std::nullopt : std::optional(found->asked.key());
  std::vector<std::string> undecided;
  for (const auto index : ranking.verdict.undecided)
    undecided.push_back(ranking.alternatives[index].asked.key());
  m.object("verdict", [&] {
    m.derived("candidate", candidate, or_null("That the others beat least; null if all failed."));
    m.derived("best", ranking.is_decided() ? candidate : std::nullopt,
              or_null("The candidate, if decided; else null."));
    m.derived("certainty", meaning(meaning_of_certainty), [&] { return ranking.verdict.certainty(); });
    m.derived("undecided", undecided, meaning("Those that the candidate is not known to be better than."));
    m.derived(
        "suggested_rounds", ranking.verdict.suggested_rounds,
        or_null(at_least(1, "That should separate them; null if nothing is undecided, or none would.")));
    m.derived("text", text, meaning("For people, as in the tables."));
  });
}

/// The document of a sweep.
struct SweepVerdicts {
  std::vector<ResultRecord> records;
  RunVerdicts verdicts;  ///< on these
};

void describe(Members& m, SweepVerdicts& sweep) {
  describe_head(m);
  describe_verdict_test(m);
  m.list("grids", sweep.verdicts.grids,
         meaning("Of each problem, number of ranks and all other choices: a row of the table."),
         [&](GridVerdict& row, size_t /*index*/) {
           auto& common = row.common;
           describe_verdict(m, row, m.writes() ? grid_verdict_text(row) : std::string());
           m.list(
               "cells", row.cells, {.meaning = "By growing columns.", .fewest = 1},
               [&](MeasuredConfiguration& cell, size_t /*index*/) { describe_cell(m, cell, row.ranking); });
           m.derived("why",
                     meaning("The candidate against the next and the last one; times of a CG step, means "
                             "over ranks and the middle half of the rounds."),
                     [&] { return differences_from_best(row); });
           m.if_given("form", common.form, common.is_system(),
                      meaning("Only of a system: matrix, domain or factors."));
           m.if_given("storage", common.storage, !common.storage.empty(),
                      meaning("Only of runs with --out-of-core: streamed within their memory limit."));
         });
  m.list("choices", sweep.verdicts.choices,
         meaning("Of each problem, number of ranks and of threads: all of their configurations; streamed "
                 "ones only where none in memory has times."),
         [&](GridVerdict& choice, size_t /*index*/) {
           describe_verdict(m, choice,
                            m.writes() ? ranking_text(choice.ranking, &ConfiguredProblem::choices, "nothing")
                                       : std::string());
           m.list("alternatives", std::vector(choice.ranking.alternatives),
                  meaning("The candidate, then by growing ratio to it; without those that failed."),
                  [&](MeasuredConfiguration& cell, size_t /*index*/) {
                    m.derived("key", cell.asked.key(), meaning(of_key));
                    describe_against_best(m, cell, choice.ranking);
                  });
         });
  m("left_out", sweep.verdicts.left_out, meaning("Runs that are not compared with the others."));
  std::vector<std::string> replaced;
  for (const auto& one : sweep.records) {
    if (one.is_replaced) replaced.push_back(one.place);
  }
  m("replaced", replaced, meaning("Disturbed runs that were repeated: the last attempt counts."));
}

/// The rows of one problem and configuration, by growing ranks.
using GridTable = std::vector<GridVerdict>;

/// Problem and configuration of all cells, without a grid.
const ConfiguredProblem& common_of(const GridTable& table) { return table.front().common; }

/// In the order of their first rows.
std::vector<GridTable> tables_of(const std::vector<GridVerdict>& verdicts) {
  std::vector<GridTable> tables;
  for (const auto& row : verdicts) {
    const auto known = std::ranges::find(tables, row.common, &common_of);
    (known == tables.end() ? tables.emplace_back() : *known).push_back(row);
  }
  for (auto& table : tables) std::ranges::sort(table, {}, &GridVerdict::rank_count);
  return tables;
}

/// The cells of all rows.
std::vector<MeasuredConfiguration> cells_of(const GridTable& table) {
  std::vector<MeasuredConfiguration> cells;
  for (const auto& row : table) cells.insert(cells.end(), row.cells.begin(), row.cells.end());
  return cells;
}

int columns_of(const MeasuredConfiguration& cell) { return cell.asked.configuration.grid.columns; }

std::string cell_text(const MeasuredConfiguration& cell, const Ranking& ranking) {
  std::string marks(best_mark(ranking.verdict.certainty(), ranking.may_be_best(cell.asked)));
  if (is_official(cell.asked)) marks += 'o';
  if (cell.disturbed_count > 0) marks += '!';
  if (!cell.is_sound()) return fmt::format("failed{:<3}     ", marks);
  const auto sample = sample_of(cell.times_s);
  const auto spread = sample.spread();
  return fmt::format("{:.4g}{:<3}{}", sample.median, marks,
                     spread ? fmt::format(" {:>3.0f}%", 100.0 * *spread) : "     ");
}

/// "Class S, auto two-sided 1 thread (sell)": the choices as in a key, without the grid, and the kernels that ran where they were automatic.
std::string title_of(const GridTable& table) {
  const auto& common = common_of(table);
  auto choices = common.choices();
  if (!common.cuts_domain()) choices.erase(0, choices.find(' ') + 1);
  std::set<std::string> used;
  for (const auto& cell : cells_of(table)) {
    if (!common.configuration.has_kernel() && !cell.kernel_used.empty()) used.insert(cell.kernel_used);
  }
  return fmt::format("{}{}, {}{}\n", common.is_system() ? "" : "Class ", common.problem, choices,
                     used.empty() ? "" : fmt::format(" ({})", fmt::join(used, ", ")));
}

/// Has a line for each division of a domain, else a line for each rank count and a column for each Px.
std::string lines_of(const GridTable& table) {
  std::set<int> all_columns;
  for (const auto& cell : cells_of(table)) all_columns.insert(columns_of(cell));
  Table lines;
  for (const auto& row : table) {
    if (common_of(table).cuts_domain()) {
      for (const auto& cell : row.cells) {
        lines.line().number("P", "{}", row.rank_count).word("Px x Py x Pz", cell.asked.arrangement());
        lines.number("seconds", cell_text(cell, row.ranking));
      }
      continue;
    }
    lines.line().number("P", "{}", row.rank_count);
    for (const int columns : all_columns) {
      const auto cell = std::ranges::find(row.cells, columns, &columns_of);
      lines.number(fmt::format("Px = {:<8}", columns),
                   cell == row.cells.end() ? std::string() : cell_text(*cell, row.ranking));
    }
  }
  return lines.text("     ");
}

/// The candidate of the most ranks against others, or the two grids that were asked for, wherever they are.
std::string reasons_of(const GridTable& table, const std::optional<GridPair>& why) {
  std::string text;
  const auto add = [&](const GridDifference& difference) {
    text += fmt::format("  Why: {}.\n", difference_words(difference));
  };
  if (!why) {
    std::ranges::for_each(differences_from_best(table.back()), add);
    return text;
  }
  for (const auto& row : table) {
    if (const auto found = difference_of_pair(row, *why)) add(*found);
  }
  return text;
}

std::string table_text(const GridTable& table, const SweepTableOptions& options) {
  auto text = title_of(table) + lines_of(table);
  for (const auto& row : table)
    text += fmt::format("  P = {}: {}.\n", row.rank_count, grid_verdict_text(row));
  const auto cells = cells_of(table);
  for (const auto& cell : cells) text += troubles_text(cell, cell.asked.arrangement());
  return text + reasons_of(table, options.why) + phase_table_of_grids(cells, options.has_paper);
}

/// The best of several tables, and all of their configurations, the candidate first: nothing where one table has all of a number of ranks.
std::string choices_text(const RunVerdicts& verdicts) {
  std::string text;
  for (const auto& choice : verdicts.choices) {
    const auto is_row = [&](const auto& row) { return row.has_problem_of(choice); };
    if (std::ranges::count_if(verdicts.grids, is_row) < 2) continue;
    const auto& [alternatives, verdict] = choice.ranking;
    Table table;
    for (size_t place = 0; place < alternatives.size(); ++place) {
      const auto& one = alternatives[place];
      const auto sample = sample_of(one.times_s);
      table.line().word("configuration", one.asked.choices());
      table.number("seconds", "{:.4g}{:<1}{:<1}", sample.median,
                   best_mark(verdict.certainty(), choice.ranking.may_be_best(one.asked)),
                   one.disturbed_count > 0 ? "!" : "");
      table.number("spread", percent_text(sample.spread(), 0));
      table.number("by the first", "{:.3f}", verdict.against[place].median);
    }
    // In few words: the table has the rest.
    const auto words = verdict.undecided.empty()
                           ? ranking_text(choice.ranking, &ConfiguredProblem::choices, "nothing")
                           : fmt::format("no clear winner, {} may be best (~){}",
                                         verdict.undecided.size() + 1, advice_text(verdict, "--repeat"));
    text += fmt::format("  {}{}, P = {}, {} per rank: {}.\n{}", choice.common.is_system() ? "" : "Class ",
                        choice.common.problem, choice.rank_count,
                        format_count(choice.common.configuration.thread_count, "thread"), words,
                        table.text("    "));
  }
  if (text.empty()) return text;
  return "\nAll tables of the same ranks together; by the first: median ratio of paired rounds\n" + text;
}

/// One line for each reason.
std::string left_out_text(const std::vector<LeftOutRun>& left_out) {
  std::map<std::string, std::vector<std::string>> keys;
  for (const auto& run : left_out) {
    if (!run.is_extra) keys[run.reason].push_back(run.key);
  }
  std::string text;
  for (const auto& [reason, runs] : keys)
    text += fmt::format("Left out, {}: {}: {}\n", format_count(std::ssize(runs), "run"), reason,
                        fmt::join(runs, ", "));
  return text;
}

}  // namespace

std::string sweep_tables(const std::vector<ResultRecord>& records, const SweepTableOptions& options) {
  const auto verdicts = verdicts_of(records);
  const auto tables = tables_of(verdicts.grids);
  std::string text;
  for (const auto& table : tables) {
    if (!text.empty()) text += '\n';
    text += table_text(table, options);
  }
  if (text.empty()) return "No results.\n" + left_out_text(verdicts.left_out);
  const bool has_benchmark =
      std::ranges::any_of(records, [](const auto& record) { return !record.asked.is_system(); });
  const bool is_disturbed = std::ranges::any_of(records, &ResultRecord::is_disturbed);
  return text + choices_text(verdicts) + left_out_text(verdicts.left_out) +
         "\nSeconds are medians (of an even number the lower of the middle two); percentages are spreads,\n"
         "(maximum - minimum) / median. * the best grid of its ranks, ~ the grids that may be best.\n" +
         (has_benchmark ? "o the grid of the official program. " : "") +
         "Px: process columns. In parentheses: the interval of the\n"
         "ratio of paired rounds, by the sign test; a wrong best in at most 1 of 100 sweeps.\n" +
         (is_disturbed ? "! something else worked on the machine during one of these runs.\n" : "");
}

std::string sweep_verdict_json(const std::vector<ResultRecord>& records) {
  return document_text(SweepVerdicts{records, verdicts_of(records)});
}

void visit_sweep_verdicts(Members& m) { visit_new<SweepVerdicts>(m); }

}  // namespace cg2d
