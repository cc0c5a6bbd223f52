#include "cg/studies/sweep_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "cg/base/sample.hpp"
#include "cg/base/text_table.hpp"
#include "cg/base/values.hpp"
#include "cg/report/grids/paper_tables.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "cg/studies/sweep_verdict.hpp"

namespace cg2d {
namespace {

/// The rows of one table, by growing ranks.
struct Table {
  ConfiguredProblem common;  ///< problem and configuration of all cells; without a grid
  std::vector<GridVerdict> rows;
};

std::vector<Table> tables_of(std::vector<GridVerdict> verdicts) {
  std::vector<Table> tables;
  for (auto& row : verdicts) {
    auto table = std::ranges::find(tables, row.common, &Table::common);
    if (table == tables.end()) table = tables.insert(table, {.common = row.common, .rows = {}});
    table->rows.push_back(std::move(row));
  }
  for (auto& table : tables) std::ranges::sort(table.rows, {}, &GridVerdict::rank_count);
  return tables;
}

std::string cell_text(const MeasuredConfiguration& cell, const Ranking& ranking) {
  std::string marks(best_mark(ranking.verdict.certainty(), ranking.may_be_best(cell.asked)));
  if (is_official(cell.asked)) marks += 'o';
  if (cell.disturbed_count > 0) marks += '!';
  if (!cell.is_sound()) return fmt::format("failed{:<3}    ", marks);
  const auto sample = sample_of(cell.times_s);
  const auto spread = sample.spread();
  return fmt::format("{:.4g}{:<3}{}", sample.median, marks,
                     spread ? fmt::format("{:>3.0f}%", 100.0 * *spread) : "    ");
}

constexpr int cell_width = 17;  // a blank is left beside a spread of 1000 % and more

constexpr std::string_view disturbance_legend =
    "! something else worked on the machine during one of these runs. Of a round that was repeated the last "
    "attempt counts.\n";

/// The kernels that ran, as " (sell)", where the choice was automatic.
std::string used_kernels(const Table& table) {
  std::set<std::string> used;
  for (const auto& row : table.rows) {
    for (const auto& cell : row.cells) {
      if (!cell.kernel_used.empty()) used.insert(cell.kernel_used);
    }
  }
  if (table.common.configuration.has_kernel() || used.empty()) return {};
  return fmt::format(" ({})", fmt::join(used, ", "));
}

/// The axes that titles name: those that are not usual in some table.
using NamedAxes = std::vector<const ConfigurationAxis*>;
NamedAxes axes_worth_naming(const std::vector<Table>& tables) {
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
std::string title_of(const Table& table, const NamedAxes& axes) {
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

int columns_of(const MeasuredConfiguration& cell) { return cell.asked.configuration.grid.columns; }

std::set<int> columns_of(const Table& table) {
  std::set<int> all;
  for (const auto& row : table.rows) {
    for (const auto& cell : row.cells) all.insert(columns_of(cell));
  }
  return all;
}

/// One line per division of a domain.
std::string lines_of_domain(const Table& table) {
  std::string lines = fmt::format("{:>6}   {:<12}{:>{}}\n", "P", "Px x Py x Pz", "seconds", cell_width - 7);
  for (const auto& row : table.rows) {
    for (const auto& cell : row.cells) {
      const auto line = fmt::format("{:>6}   {:<12}{:>{}}", row.rank_count, cell.asked.arrangement(),
                                    cell_text(cell, row.ranking), cell_width);
      lines += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  }
  return lines;
}

/// One line per rank count.
std::string lines_of(const Table& table) {
  if (table.common.cuts_domain()) return lines_of_domain(table);
  const auto all_columns = columns_of(table);
  std::string lines = "     P";
  for (const int columns : all_columns)
    lines += fmt::format("{:>{}}", fmt::format("Px = {:<7}", columns), cell_width);
  lines += "\n";
  for (const auto& row : table.rows) {
    std::string line = fmt::format("{:>6}", row.rank_count);
    for (const int columns : all_columns) {
      const auto cell =
          std::ranges::find(row.cells, columns, [](const auto& one) { return columns_of(one); });
      line += fmt::format("{:>{}}", cell == row.cells.end() ? std::string() : cell_text(*cell, row.ranking),
                          cell_width);
    }
    lines += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return lines;
}

std::string verdict_on(const GridVerdict& row) {
  return fmt::format("  P = {}: {}.\n", row.rank_count, grid_verdict_text(row));
}

std::string failures_of(const Table& table) {
  std::string text;
  for (const auto& row : table.rows) {
    for (const auto& cell : row.cells) {
      if (cell.statuses.empty()) continue;
      text += fmt::format("  Failed: {}, {} of {}: {}: {}\n", cell.asked.arrangement(), cell.statuses.size(),
                          format_count(std::ssize(cell.statuses) + std::ssize(cell.times_s), "run"),
                          cell.statuses.front(), cell.reason);
    }
  }
  return text;
}

/// The runs that were disturbed: those that count, and those that were repeated.
std::string disturbances_of(const Table& table) {
  std::string text;
  for (const auto& row : table.rows) {
    for (const auto& cell : row.cells) {
      if (cell.disturbed_count == 0 && cell.replaced_count == 0) continue;
      text += fmt::format("  Disturbed: {}, {} of {}{}\n", cell.asked.arrangement(), cell.disturbed_count,
                          format_count(std::ssize(cell.runs) + std::ssize(cell.statuses), "run"),
                          cell.replaced_count == 0 ? ""
                                                   : fmt::format("; {} more {} repeated", cell.replaced_count,
                                                                 cell.replaced_count == 1 ? "was" : "were"));
    }
  }
  return text;
}

/// The candidate of the most ranks against others, or the two grids that were asked for, wherever they are.
std::string reasons_of(const Table& table, const std::vector<ResultRecord>& records,
                       const std::optional<GridPair>& why) {
  std::string text;
  if (why) {
    for (const auto& row : table.rows) {
      const auto difference = difference_of_pair(row, *why, records);
      if (difference) text += difference_text(*difference, records);
    }
    return text;
  }
  for (const auto& difference : differences_from_best(table.rows.back(), records))
    text += difference_text(difference, records);
  return text;
}

std::string table_text(const Table& table, const NamedAxes& axes, const std::vector<ResultRecord>& records,
                       const SweepTableOptions& options) {
  std::string text = title_of(table, axes) + lines_of(table);
  for (const auto& row : table.rows) text += verdict_on(row);
  std::vector<MeasuredConfiguration> cells;
  for (const auto& row : table.rows) cells.insert(cells.end(), row.cells.begin(), row.cells.end());
  return text + failures_of(table) + disturbances_of(table) + reasons_of(table, records, options.why) +
         extra_run_tables(cells, records) + prediction_lines(cells);
}

/// All configurations of a choice, the candidate first, each with its paired rounds.
std::string choice_table(const Ranking& ranking) {
  std::size_t width = 0;
  for (const auto& one : ranking.alternatives) width = std::max(width, one.asked.choices().size());
  TextTable<MeasuredConfiguration> table;
  const auto against = [&](const auto& one) -> const RatioInterval& {
    return ranking.verdict.against[ranking.place_of(one.asked)];
  };
  const auto is_first = [&](const auto& one) { return &one == ranking.candidate(); };
  table.column("   configuration", fmt::format("{{:<{}}}", width + 5),
               [](const auto& one) { return "   " + one.asked.choices(); });
  table.column("seconds", "{:>12}", [&](const auto& one) {
    const auto mark = best_mark(ranking.verdict.certainty(), ranking.may_be_best(one.asked));
    return fmt::format("{:.4g}{:<1}{:<1}", sample_of(one.times_s).median, mark,
                       one.disturbed_count > 0 ? "!" : "");
  });
  table.column("spread", "{:>7}", [](const auto& one) {
    const auto spread = sample_of(one.times_s).spread();
    return spread ? fmt::format("{:.0f}%", 100.0 * *spread) : "";
  });
  table.column("by the first", "{:>13.3f}",
               [&](const auto& one) { return is_first(one) ? 1.0 : against(one).median; });
  table.column("slower in", "{}", [&](const auto& one) {
    if (is_first(one)) return std::string("-");
    return fmt::format("{} of {}", against(one).above_one,
                       format_count(static_cast<std::int64_t>(against(one).round_count), "round"));
  });
  return table.text(ranking.alternatives);
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

/// One value for each phase, then the total; empty where it is not known.
using PhaseCells = std::vector<std::optional<double>>;

constexpr std::string_view total_name = "total";

PhaseCells cells_of(const std::optional<PhaseSeconds>& phases, double total) {
  PhaseCells cells(benchmark_phase_count);
  if (phases) std::ranges::copy(*phases, cells.begin());
  cells.emplace_back(total);
  return cells;
}

/// In per cent of the measured values. Empty where one of the two is zero: a grid with one process column has
/// nothing to sum.
PhaseCells differences_of(const PhaseCells& measured, const PhaseCells& predicted) {
  PhaseCells differences(measured.size());
  for (std::size_t k = 0; k < measured.size(); ++k) {
    if (measured[k].value_or(0.0) > 0.0 && *predicted[k] > 0.0)
      differences[k] = 100.0 * (*predicted[k] / *measured[k] - 1.0);
  }
  return differences;
}

std::string line_of(std::string_view grid, std::string_view what, const std::vector<std::string>& texts) {
  std::string line = fmt::format("    {:<9} {:<10}", grid, what);
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const auto name = k < benchmark_phase_count ? phase_name(phase_at(k)) : total_name;
    line += fmt::format(" {:>{}}", texts[k], std::max<std::size_t>(name.size(), 10));
  }
  return line + "\n";
}

template <typename Format>
std::vector<std::string> texts_of(const PhaseCells& cells, const Format& format) {
  std::vector<std::string> texts;
  for (const auto& cell : cells) texts.push_back(cell ? format(*cell) : "-");
  return texts;
}

std::string head_line() {
  std::vector<std::string> names;
  for (std::size_t index = 0; index < benchmark_phase_count; ++index)
    names.emplace_back(phase_name(phase_at(index)));
  names.emplace_back(total_name);
  return line_of("grid", "", names);
}

std::string lines_for(const ResultRecord& run) {
  const auto as_seconds = [](double value) { return fmt::format("{:.6f}", value); };
  const auto as_percent = [](double value) { return fmt::format("{:+.1f} %", value); };
  const auto measured = cells_of(run.phases_s, run.time_s);
  const auto predicted = cells_of(run.prediction->phases_s, run.prediction->total_s);
  return line_of(run.asked.configuration.grid.name(), "measured", texts_of(measured, as_seconds)) +
         line_of("", "predicted", texts_of(predicted, as_seconds)) +
         line_of("", "difference", texts_of(differences_of(measured, predicted), as_percent));
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
  std::string lines;
  for (const auto& cell : cells) {
    if (!cell.is_sound() || !cell.median_run().prediction) continue;
    lines += lines_for(cell.median_run());
  }
  if (lines.empty()) return lines;
  return "  Predicted beside measured, in the run with the median time: seconds of the whole timed region,\n"
         "  phases as means over the ranks; difference = predicted / measured - 1\n" +
         head_line() + lines;
}

}  // namespace cg2d
