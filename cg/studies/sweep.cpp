#include "cg/studies/sweep.hpp"

#include <fmt/ranges.h>

#include <set>

#include "cg/base/table.hpp"
#include "cg/matrix/stencil.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/operators/matrix_free.hpp"

namespace cg2d {
namespace {

template <typename Value>
bool has(const std::vector<Value>& values, const Value& one) {
  return std::ranges::find(values, one) != values.end();
}

/// The form on every wanted grid of that many ranks, or with every wanted cut of its domain.
std::vector<ConfiguredProblem> arrangements_of(const SweepAxes& axes, const ConfiguredProblem& form,
                                               const std::string& operator_text, int rank_count) {
  std::vector<ConfiguredProblem> arranged;
  if (!form.cuts_domain()) {
    // Where the official program has no grid, those that are named beside it count.
    auto named = axes.named;
    if (!named.grids.empty() && !official_grid(rank_count)) named.has_official = false;
    for (const auto& grid : grids_for(named, rank_count)) {
      if (axes.columns.empty() || has(axes.columns, grid.columns))
        arranged.emplace_back(form).configuration.grid = grid;
    }
    if (arranged.empty())
      throw InputError("--grid, --px: none of those named is for {}; valid grids (PXxPY): {}",
                       format_count(rank_count, "rank"), valid_grids(rank_count));
    return arranged;
  }
  const auto extents = stencil_from(operator_text).extents;
  const auto has_points = [&](const comm::DomainGrid& grid) {
    for (size_t dimension = 0; dimension < comm::dimension_count; ++dimension) {
      if (grid.parts[dimension] > extents[dimension]) return false;
    }
    return true;
  };
  for (const auto& domain : comm::domain_grids(rank_count)) {
    if (!has_points(domain) || !(axes.domains.empty() || has(axes.domains, domain))) continue;
    auto& one = arranged.emplace_back(form);
    one.configuration.grid = {.columns = 1, .rows = rank_count};
    one.form = fmt::format("{} {}", domain_form, domain.name());
  }
  if (arranged.empty())
    throw InputError("--domain: no cut of {} into {} {}", operator_text, format_count(rank_count, "part"),
                     axes.domains.empty() ? "has points for each" : "is among these");
  return arranged;
}

class GridSweep final : public Study {
 public:
  GridSweep(const SweepOptions& sweep, comm::RankGroup& group) : Study(sweep, group), sweep_(sweep) {}

 private:
  void plan(const Environment& /*environment*/) override {
    auto axes = sweep_.axes;
    const bool names_ranks = !axes.rank_counts.empty();
    if (!names_ranks) axes.rank_counts = usual_rank_counts(axes.named, group_.size());
    require_started(names_ranks ? "--ranks" : "--grid", std::ranges::max(axes.rank_counts), group_.size());
    const auto& system = options_.system;
    auto& session = options_.session();
    if (axes.values["transport"].empty()) {
      session.configuration = with_default_transport(group_, session.configuration, axes.values);
      session.transport_origin = ChoiceOrigin::built_in_rule;
    }
    const auto text = system ? system->operator_text : std::string();
    const auto forms = system ? forms_of(*system) : forms_of(axes.problems, session.configuration);
    const auto configurations = configurations_of(axes, forms, text);
    for (const auto& asked : configurations) {
      auto& one = cases_.emplace_back(StudyCase{
          .work = {.key = asked.key(), .kind = asked.problem}, .asked = asked, .operator_text = text});
      if (!system) one.problem = *std::ranges::find(axes.problems, asked.problem, &problem_name);
    }
    const int needed = rounds_for_verdicts(configurations);
    round_count_ = options_.round_count.value_or(needed);
    progress_.say(fmt::format("{}, {}; a verdict on them needs {}",
                              format_count(std::ssize(cases_), "configuration"),
                              format_count(round_count_, "round"), needed));
  }

  std::string view() const override { return sweep_tables(file_->records(), sweep_.tables); }

  const SweepOptions& sweep_;
};

// ---------------------------------------------------------------- the tables

constexpr std::string_view of_key = "The unique text of a configuration.";

/// Whether the configuration has the official program's grid. Systems have no official program.
bool is_official(const ConfiguredProblem& asked) {
  const auto& grid = asked.configuration.grid;
  return !asked.is_system() && official_grid(grid.rank_count()) == grid;
}

/// "best is 4x1 with 0.0873 s, better than 2x2 by 12 % (8 ... 15 %); the official 2x2 costs 12 % (8 ... 15 %)
/// more", or the grids that cannot be told from the best one. Without a full stop.
std::string grid_verdict_text(const GridVerdict& row) {
  auto text = ranking_text(row.ranking, &ConfiguredProblem::arrangement, "no grid");
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
  m.object_if(cell.is_sound(), "times", or_null("null where a run failed."), [&] {
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

std::vector<comm::ProcessGrid> grids_for(const NamedGrids& named, int rank_count) {
  if (named.are_all()) return comm::factorizations(rank_count);
  auto grids = named.grids;
  std::erase_if(grids, [&](const auto& grid) { return grid.rank_count() != rank_count; });
  if (!named.has_official) return grids;
  const auto official = *grid_named_by({.columns = {}, .is_official = true}, rank_count);
  if (!has(grids, official)) grids.push_back(official);
  return grids;
}

std::vector<int> usual_rank_counts(const NamedGrids& named, int started) {
  std::set<int> counts;
  for (const auto& grid : named.grids) counts.insert(grid.rank_count());
  if (named.are_all() || named.has_official) counts.insert(started);
  return {counts.begin(), counts.end()};
}

std::vector<ConfiguredProblem> forms_of(const std::vector<Problem>& problems, const Configuration& common) {
  std::vector<ConfiguredProblem> forms;
  for (const auto& problem : problems)
    forms.push_back({.problem = problem_name(problem), .configuration = common});
  return forms;
}

std::vector<ConfiguredProblem> forms_of(const SystemOptions& system) {
  std::vector<ConfiguredProblem> forms;
  const auto add = [&](std::string_view form) {
    forms.push_back(
        {.problem = system_name(system), .configuration = system.configuration, .form = std::string(form)});
  };
  const auto& text = system.operator_text;
  if (const auto* const row = find_matrix_free(text)) add(row->uses_grid ? factor_form : domain_form);
  if (text.empty() || system.assembles) add(matrix_form);
  return forms;
}

std::vector<ConfiguredProblem> configurations_of(const SweepAxes& axes,
                                                 const std::vector<ConfiguredProblem>& forms,
                                                 const std::string& operator_text) {
  for (const auto& grid : axes.named.grids) {
    if (!has(axes.rank_counts, grid.rank_count()))
      throw InputError("--grid {}: is for {}, which --ranks does not name", grid.name(),
                       format_count(grid.rank_count(), "rank"));
  }
  std::vector<ConfiguredProblem> all;
  for (const auto& form : forms) {
    auto values = axes.values;
    if (form.cuts_domain()) {  // stencils have neither a kernel nor a form of the sum
      values.erase("kernel");
      values.erase("sum_form");
    }
    const auto crossing = crossed(form.configuration, values);
    for (const int rank_count : axes.rank_counts) {
      for (const auto& arranged : arrangements_of(axes, form, operator_text, rank_count)) {
        for (const auto& configuration : crossing) {
          auto one = arranged;
          one.configuration = configuration;
          one.configuration.grid = arranged.configuration.grid;
          if (one.is_matrix_free()) one.configuration.cut = automatic_choice;
          one.configuration = with_cut(one.configuration, one.usual_cut());
          if (!has(all, one)) all.push_back(std::move(one));
        }
      }
    }
  }
  return all;
}

int rounds_for_verdicts(const std::vector<ConfiguredProblem>& configurations) {
  return rounds_for_verdicts(configurations, [](const ConfiguredProblem& one) {
    const auto& configuration = one.configuration;
    return std::tuple(one.problem, configuration.grid.rank_count(), configuration.thread_count);
  });
}

ExitCode sweep(const SweepOptions& options, comm::RankGroup& group) {
  return GridSweep(options, group).execute();
}

std::string sweep_tables(const std::vector<ResultRecord>& records, const SweepTableOptions& options) {
  const auto verdicts = verdicts_of(records);
  const auto tables = tables_of(verdicts.grids);
  std::string text;
  for (const auto& table : tables) {
    if (!text.empty()) text += '\n';
    text += table_text(table, options);
  }
  if (text.empty()) return "No results.\n" + left_out_text(verdicts.left_out);
  const auto has_pair = [&](const auto& row) { return difference_of_pair(row, *options.why).has_value(); };
  if (options.why && std::ranges::none_of(verdicts.grids, has_pair))
    text += fmt::format("  Why: no table has times of the phases of both {} and {}.\n",
                        options.why->first.name(), options.why->second.name());
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
