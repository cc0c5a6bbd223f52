#include "cg/studies/sweep_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "cg/base/sample.hpp"
#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/studies/sweep_plan.hpp"

namespace cg2d {
namespace {

/// The rows of one problem and configuration, by growing ranks.
struct GridTable {
  ConfiguredProblem common;  ///< problem and configuration of all cells; without a grid
  std::vector<GridVerdict> rows;
};

std::vector<GridTable> tables_of(std::vector<GridVerdict> verdicts) {
  std::vector<GridTable> tables;
  for (auto& row : verdicts) {
    auto table = std::ranges::find(tables, row.common, &GridTable::common);
    if (table == tables.end()) table = tables.insert(table, {.common = row.common, .rows = {}});
    table->rows.push_back(std::move(row));
  }
  for (auto& table : tables) std::ranges::sort(table.rows, {}, &GridVerdict::rank_count);
  return tables;
}

/// The cells of all rows.
std::vector<MeasuredConfiguration> cells_of(const GridTable& table) {
  std::vector<MeasuredConfiguration> cells;
  for (const auto& row : table.rows) cells.insert(cells.end(), row.cells.begin(), row.cells.end());
  return cells;
}

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

constexpr std::string_view disturbance_legend =
    "! something else worked on the machine during one of these runs. Of a round that was repeated the last "
    "attempt counts.\n";

/// The kernels that ran, as " (sell)", where the choice was automatic.
std::string used_kernels(const GridTable& table) {
  std::set<std::string> used;
  for (const auto& cell : cells_of(table)) {
    if (!cell.kernel_used.empty()) used.insert(cell.kernel_used);
  }
  if (table.common.configuration.has_kernel() || used.empty()) return {};
  return fmt::format(" ({})", fmt::join(used, ", "));
}

/// The axes that titles name: those that are not usual in some table.
using NamedAxes = std::vector<const ConfigurationAxis*>;
NamedAxes axes_worth_naming(const std::vector<GridTable>& tables) {
  NamedAxes axes;
  for (const auto& axis : configuration_axes()) {
    const auto is_worth_it = [&](const auto& table) {
      return !axis.label(table.common.configuration).empty();
    };
    if (std::ranges::any_of(tables, is_worth_it)) axes.push_back(&axis);
  }
  return axes;
}

std::string form_title(const ConfiguredProblem& common) {
  if (common.cuts_domain()) return ", without a matrix, by the parts of the domain";
  return common.is_matrix_free() ? ", without a matrix" : "";
}

/// The threads come last: "..., 2 threads per rank".
std::string title_of(const GridTable& table, const NamedAxes& axes) {
  const auto& common = table.common;
  auto text = common.is_system() ? common.problem + form_title(common) : "Class " + common.problem;
  std::string threads;
  for (const auto* axis : axes) {
    const auto part = ", " + axis->title(table.common.configuration);
    (axis->name == "threads" ? threads : text) += part;
    if (axis->name == "kernel") text += used_kernels(table);
  }
  return text + threads + (common.storage.empty() ? "" : ", " + common.storage) + "\n";
}

/// Has a line for each division of a domain, else a line for each rank count and a column for each Px.
std::string lines_of(const GridTable& table) {
  std::set<int> all_columns;
  for (const auto& cell : cells_of(table)) all_columns.insert(cell.asked.configuration.grid.columns);
  Table lines;
  for (const auto& row : table.rows) {
    if (table.common.cuts_domain()) {
      for (const auto& cell : row.cells) {
        lines.line().number("P", "{}", row.rank_count).word("Px x Py x Pz", cell.asked.arrangement());
        lines.number("seconds", cell_text(cell, row.ranking));
      }
      continue;
    }
    lines.line().number("P", "{}", row.rank_count);
    for (const int columns : all_columns) {
      const auto cell = std::ranges::find(
          row.cells, columns, [](const auto& one) { return one.asked.configuration.grid.columns; });
      lines.number(fmt::format("Px = {:<8}", columns),
                   cell == row.cells.end() ? std::string() : cell_text(*cell, row.ranking));
    }
  }
  return lines.text("     ");
}

std::string failures_of(const GridTable& table) {
  std::string text;
  for (const auto& cell : cells_of(table)) {
    if (cell.statuses.empty()) continue;
    text += fmt::format("  Failed: {}, {} of {}: {}: {}\n", cell.asked.arrangement(), cell.statuses.size(),
                        format_count(std::ssize(cell.statuses) + std::ssize(cell.times_s), "run"),
                        cell.statuses.front(), cell.reason);
  }
  return text;
}

/// The runs that were disturbed: those that count, and those that were repeated.
std::string disturbances_of(const GridTable& table) {
  std::string text;
  for (const auto& cell : cells_of(table)) {
    if (cell.disturbed_count == 0 && cell.replaced_count == 0) continue;
    text += fmt::format("  Disturbed: {}, {} of {}{}\n", cell.asked.arrangement(), cell.disturbed_count,
                        format_count(std::ssize(cell.runs) + std::ssize(cell.statuses), "run"),
                        cell.replaced_count == 0 ? ""
                                                 : fmt::format("; {} more {} repeated", cell.replaced_count,
                                                               cell.replaced_count == 1 ? "was" : "were"));
  }
  return text;
}

/// The candidate of the most ranks against others, or the two grids that were asked for, wherever they are.
std::string reasons_of(const GridTable& table, const std::vector<ResultRecord>& records,
                       const std::optional<GridPair>& why) {
  std::vector<GridDifference> differences;
  if (!why) differences = differences_from_best(table.rows.back(), records);
  for (const auto& row : table.rows) {
    auto found = why ? difference_of_pair(row, *why, records) : std::nullopt;
    if (found) differences.push_back(*std::move(found));
  }
  std::string text;
  for (const auto& difference : differences) text += difference_text(difference, records);
  return text;
}

std::string table_text(const GridTable& table, const NamedAxes& axes,
                       const std::vector<ResultRecord>& records, const SweepTableOptions& options) {
  std::string text = title_of(table, axes) + lines_of(table);
  for (const auto& row : table.rows)
    text += fmt::format("  P = {}: {}.\n", row.rank_count, grid_verdict_text(row));
  const auto cells = cells_of(table);
  return text + failures_of(table) + disturbances_of(table) + reasons_of(table, records, options.why) +
         extra_run_tables(cells, records) + prediction_lines(cells);
}

/// All configurations of a choice, the candidate first, each with its paired rounds.
std::string choice_table(const Ranking& ranking) {
  Table table;
  for (const auto& one : ranking.alternatives) {
    const auto mark = best_mark(ranking.verdict.certainty(), ranking.may_be_best(one.asked));
    table.line().word("configuration", one.asked.choices());
    table.number("seconds", "{:.4g}{:<1}{:<1}", sample_of(one.times_s).median, mark,
                 one.disturbed_count > 0 ? "!" : "");
    table.number("spread", percent_text(sample_of(one.times_s).spread(), 0));
    if (&one == ranking.candidate()) {
      table.number("by the first", "1.000");
      continue;
    }
    const auto& against = ranking.verdict.against[ranking.place_of(one.asked)];
    table.number("by the first", "{:.3f}", against.median);
    table.word("slower in",
               fmt::format("{} of {}", against.above_one,
                           format_count(static_cast<std::int64_t>(against.round_count), "round")));
  }
  return table.text("    ");
}

/// The verdict in few words: the table has the rest.
std::string short_verdict(const ChoiceVerdict& choice) {
  const auto& verdict = choice.ranking.verdict;
  if (verdict.undecided.empty()) return choice_verdict_text(choice);
  return fmt::format("no clear winner, {} may be best (~){}", verdict.undecided.size() + 1,
                     advice_text(verdict, "--repeat"));
}

/// The best of several tables: nothing where one table has all configurations of a number of ranks.
std::string choice_text(const ChoiceVerdict& choice, const std::vector<GridVerdict>& grids) {
  const auto table_count = std::ranges::count_if(grids, [&](const auto& row) {
    return row.common.problem == choice.problem && row.rank_count == choice.rank_count &&
           row.common.configuration.thread_count == choice.thread_count;
  });
  if (table_count < 2) return {};
  const bool is_system =
      choice.ranking.candidate() != nullptr && choice.ranking.candidate()->asked.is_system();
  return fmt::format("  {}{}, P = {}, {} per rank: {}.\n{}", is_system ? "" : "Class ", choice.problem,
                     choice.rank_count, format_count(choice.thread_count, "thread"), short_verdict(choice),
                     choice_table(choice.ranking));
}

std::string choices_text(const RunVerdicts& verdicts) {
  std::string text;
  for (const auto& choice : verdicts.choices) text += choice_text(choice, verdicts.grids);
  if (text.empty()) return text;
  return "\nAll tables of the same ranks together\n" + text +
         "  by the first: median ratio of paired rounds to the first line's; slower in: rounds in which it "
         "took "
         "longer\n";
}

/// One line for each reason.
std::string left_out_text(const std::vector<LeftOutRun>& left_out) {
  std::map<std::string, std::vector<std::string>> keys;
  for (const auto& run : left_out) {
    if (!run.is_extra) keys[run.reason].push_back(run.key);
  }
  std::string text;
  for (const auto& [reason, runs] : keys)
    text += fmt::format("Left out, {}: {}\n", format_count(std::ssize(runs), "run"),
                        fmt::format("{}: {}", reason, fmt::join(runs, ", ")));
  return text;
}

/// Measured, predicted, and the difference in per cent of the measured value: none where one of the two is not known or zero, such as what
/// one process column sums.
void add_prediction(const ResultRecord& run, Table& table) {
  const auto& prediction = *run.prediction;
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const auto line = [&](std::string_view grid, std::string_view what, const auto& text_of) {
    table.line().word("grid", grid).word("of", what);
    for (std::size_t k = 0; k < benchmark_phase_count; ++k)
      table.number(phase_name(phase_at(k)),
                   text_of(run.work ? run.work->seconds[k] : unknown, prediction.phases[k]));
    table.number("total", text_of(run.time_s, prediction.total_s()));
  };
  const auto seconds = [](double value) {
    return std::isnan(value) ? std::string() : fmt::format("{:.6f}", value);
  };
  line(run.asked.configuration.grid.name(), "measured",
       [&](double measured, double /*predicted*/) { return seconds(measured); });
  line(" ", "predicted", [&](double /*measured*/, double predicted) { return seconds(predicted); });
  line(" ", "difference", [](double measured, double predicted) {
    const bool are_known = measured > 0.0 && predicted > 0.0;
    return are_known ? fmt::format("{:+.1f} %", 100.0 * (predicted / measured - 1.0)) : std::string();
  });
}

}  // namespace

std::string sweep_tables(const std::vector<ResultRecord>& records, const SweepTableOptions& options) {
  const auto verdicts = verdicts_of(records);
  const auto tables = tables_of(verdicts.grids);
  const auto axes = axes_worth_naming(tables);
  std::string text;
  for (const auto& table : tables) {
    if (!text.empty()) text += '\n';
    text += table_text(table, axes, records, options);
  }
  if (text.empty()) return "No results.\n" + left_out_text(verdicts.left_out);
  const bool has_benchmark =
      std::ranges::any_of(records, [](const auto& record) { return !record.asked.is_system(); });
  const bool is_disturbed = std::ranges::any_of(records, &ResultRecord::is_disturbed);
  return text + choices_text(verdicts) + left_out_text(verdicts.left_out) +
         "\nSeconds are medians (of an even number the lower of the middle two); percentages are spreads,\n"
         "(maximum - minimum) / median. * the best grid of its ranks,\n~ the grids that may be best" +
         (has_benchmark ? ", o the grid of the official program" : "") +
         ". Px: "
         "process columns. In\nparentheses: the interval of the ratio of paired rounds, by the sign test; a "
         "wrong best in at most 1 of 100 sweeps.\n" +
         std::string(is_disturbed ? disturbance_legend : "") +
         (options.has_paper ? "\n" + paper_tables(verdicts.grids) : std::string());
}

std::string prediction_lines(const std::vector<MeasuredConfiguration>& cells) {
  Table table;
  for (const auto& cell : cells) {
    if (cell.is_sound() && cell.median_run().prediction) add_prediction(cell.median_run(), table);
  }
  if (table.is_empty()) return {};
  return "  Predicted beside measured, in the run with the median time: seconds of the whole timed region,\n"
         "  phases as means over the ranks; difference = predicted / measured - 1\n" +
         table.text("    ");
}

}  // namespace cg2d
