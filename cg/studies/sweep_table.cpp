#include "cg/studies/sweep_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/studies/sweep_plan.hpp"

namespace cg2d {
namespace {

/// The cells of one table, by ranks and columns.
struct Table {
  ConfiguredProblem common;  ///< of all cells; without a grid
  std::map<int, std::map<int, MeasuredConfiguration>> rows;
};

std::vector<Table> tables_of(const std::vector<MeasuredConfiguration>& measured) {
  std::vector<Table> tables;
  for (const auto& cell : measured) {
    auto common = cell.asked;
    common.configuration.grid = {};
    auto table = std::ranges::find(tables, common, &Table::common);
    if (table == tables.end()) table = tables.insert(table, {.common = std::move(common), .rows = {}});
    const auto& grid = cell.asked.configuration.grid;
    table->rows[grid.rank_count()].emplace(grid.columns, cell);
  }
  return tables;
}

using Row = std::map<int, MeasuredConfiguration>;

/// The sound cell with the least median; nullptr if there is none.
const MeasuredConfiguration* best_of(const Row& row) {
  const MeasuredConfiguration* best = nullptr;
  for (const auto& [columns, cell] : row) {
    if (!cell.is_sound()) continue;
    if (best == nullptr || sample_of(cell.times_s).median < sample_of(best->times_s).median) best = &cell;
  }
  return best;
}

std::string cell_text(const MeasuredConfiguration& cell, const MeasuredConfiguration* best) {
  const auto& grid = cell.asked.configuration.grid;
  std::string marks;
  if (&cell == best) marks += '*';
  if (official_grid(grid.rank_count()) == grid) marks += 'o';
  if (cell.disturbed_count > 0) marks += '!';
  if (!cell.is_sound()) return fmt::format("failed{:<3}    ", marks);
  const auto sample = sample_of(cell.times_s);
  return fmt::format("{:.4g}{:<3}{:>3.0f}%", sample.median, marks, 100.0 * sample.spread());
}

constexpr int cell_width = 16;

constexpr std::string_view disturbance_legend =
    "! something else worked on the machine during one of these runs. Of a round that was repeated the last "
    "attempt counts.\n";

/// The kernels that ran, as " (sell)", where the choice was automatic.
std::string used_kernels(const Table& table) {
  std::set<std::string> used;
  for (const auto& [ranks, row] : table.rows) {
    for (const auto& [columns, cell] : row) {
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

/// The threads come last: "..., 2 threads per rank".
std::string title_of(const Table& table, const NamedAxes& axes) {
  std::string text = "Class " + table.common.problem;
  std::string threads;
  for (const auto* axis : axes) {
    const auto part = ", " + axis->title(table.common.configuration);
    (axis->name == "threads" ? threads : text) += part;
    if (axis->name == "kernel") text += used_kernels(table);
  }
  return text + threads + "\n";
}

std::set<int> columns_of(const Table& table) {
  std::set<int> all;
  for (const auto& [ranks, row] : table.rows) {
    for (const auto& [columns, cell] : row) all.insert(columns);
  }
  return all;
}

/// One line per rank count.
std::string lines_of(const Table& table) {
  const auto all_columns = columns_of(table);
  std::string lines = "     P";
  for (const int columns : all_columns)
    lines += fmt::format("{:>{}}", fmt::format("Px = {:<7}", columns), cell_width);
  lines += "\n";
  for (const auto& [rank_count, row] : table.rows) {
    const auto* const best = best_of(row);
    std::string line = fmt::format("{:>6}", rank_count);
    for (const int columns : all_columns) {
      const auto cell = row.find(columns);
      line += fmt::format("{:>{}}", cell == row.end() ? std::string() : cell_text(cell->second, best),
                          cell_width);
    }
    lines += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return lines;
}

std::string verdict_on(int rank_count, const Row& row) {
  const auto* const best = best_of(row);
  if (best == nullptr) return fmt::format("  P = {}: no grid succeeded.\n", rank_count);
  const double best_s = sample_of(best->times_s).median;
  std::string text = fmt::format("  P = {}: best is {} with {:.4g} s; ", rank_count,
                                 best->asked.configuration.grid.name(), best_s);
  const auto official = official_grid(rank_count);
  if (!official) return text + "no official grid (not a power of two).\n";
  const auto cell = row.find(official->columns);
  if (cell == row.end()) return text + fmt::format("the official {} was not measured.\n", official->name());
  if (&cell->second == best) return text + "that is the official grid, too.\n";
  if (!cell->second.is_sound()) return text + fmt::format("the official {} failed.\n", official->name());
  return text + fmt::format("the official {} costs {:.1f} % more.\n", official->name(),
                            100.0 * (sample_of(cell->second.times_s).median / best_s - 1.0));
}

std::string failures_of(const Table& table) {
  std::string text;
  for (const auto& [rank_count, row] : table.rows) {
    for (const auto& [columns, cell] : row) {
      if (cell.statuses.empty()) continue;
      text += fmt::format("  Failed: {}, {} of {}: {}: {}\n", cell.asked.configuration.grid.name(),
                          cell.statuses.size(),
                          format_count(std::ssize(cell.statuses) + std::ssize(cell.times_s), "run"),
                          cell.statuses.front(), cell.reason);
    }
  }
  return text;
}

/// The runs that were disturbed: those that count, and those that were repeated.
std::string disturbances_of(const Table& table) {
  std::string text;
  for (const auto& [rank_count, row] : table.rows) {
    for (const auto& [columns, cell] : row) {
      if (cell.disturbed_count == 0 && cell.replaced_count == 0) continue;
      text += fmt::format("  Disturbed: {}, {} of {}; {} more were repeated\n",
                          cell.asked.configuration.grid.name(), cell.disturbed_count,
                          format_count(std::ssize(cell.runs) + std::ssize(cell.statuses), "run"),
                          cell.replaced_count);
    }
  }
  return text;
}

std::string predictions_of(const Table& table) {
  std::vector<MeasuredConfiguration> cells;
  for (const auto& [rank_count, row] : table.rows) {
    for (const auto& [columns, cell] : row) cells.push_back(cell);
  }
  return prediction_lines(cells);
}

std::string table_text(const Table& table, const NamedAxes& axes) {
  std::string text = title_of(table, axes) + lines_of(table);
  for (const auto& [rank_count, row] : table.rows) text += verdict_on(rank_count, row);
  return text + failures_of(table) + disturbances_of(table) + predictions_of(table);
}

/// One value for each phase, then the total; empty where it is not known.
using PhaseCells = std::vector<std::optional<double>>;

constexpr std::string_view total_name = "total";

PhaseCells cells_of(const std::optional<PhaseSeconds>& phases, double total) {
  PhaseCells cells(phase_count);
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
    const auto name = k < phase_count ? phase_name(phase_at(k)) : total_name;
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
  for (std::size_t index = 0; index < phase_count; ++index) names.emplace_back(phase_name(phase_at(index)));
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

std::string sweep_tables(const std::vector<ResultRecord>& records) {
  const auto tables = tables_of(gathered(records));
  const auto axes = axes_worth_naming(tables);
  std::string text;
  for (const auto& table : tables) {
    if (!text.empty()) text += '\n';
    text += table_text(table, axes);
  }
  if (text.empty()) return "No results.\n";
  text +=
      "\nSeconds are medians; the per cent are the spread, (maximum - minimum) / median. * the best grid "
      "of its ranks,\no the grid of the official program. Px: process columns.\n";
  const bool is_disturbed = std::ranges::any_of(records, &ResultRecord::is_disturbed);
  if (is_disturbed) text += disturbance_legend;
  return text;
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
