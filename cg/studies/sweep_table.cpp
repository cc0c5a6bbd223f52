#include "cg/studies/sweep_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "cg/base/sample.hpp"
#include "cg/base/text_format.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "cg/studies/sweep_prediction.hpp"

namespace cg2d {
namespace {

/// The cells of one table, by ranks and columns.
struct Table {
  SweepConfiguration common;  ///< what all cells have in common; its grid says nothing
  std::map<int, std::map<int, MeasuredConfiguration>> rows;
};

std::vector<Table> tables_of(const std::vector<MeasuredConfiguration>& measured) {
  std::vector<Table> tables;
  for (const auto& cell : measured) {
    auto common = cell.configuration;
    common.grid = {};
    auto table = std::ranges::find(tables, common, &Table::common);
    if (table == tables.end()) table = tables.insert(table, {.common = std::move(common), .rows = {}});
    const auto& grid = cell.configuration.grid;
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
  const auto& grid = cell.configuration.grid;
  std::string marks;
  if (&cell == best) marks += '*';
  if (official_grid(grid.rank_count()) == grid) marks += 'o';
  if (!cell.is_sound()) return fmt::format("failed{:<2}     ", marks);
  const auto sample = sample_of(cell.times_s);
  return fmt::format("{:.4g}{:<2} {:>3.0f}%", sample.median, marks, 100.0 * sample.spread());
}

constexpr int cell_width = 16;

std::string title_of(const Table& table, bool names_sum) {
  const auto& common = table.common;
  std::set<std::string> used;
  for (const auto& [ranks, row] : table.rows) {
    for (const auto& [columns, cell] : row) {
      if (!cell.kernel_used.empty()) used.insert(cell.kernel_used);
    }
  }
  std::string kernels;
  if (common.kernel == "auto" && !used.empty()) {
    kernels = fmt::format(" ({})", fmt::join(used, ", "));
  }
  return fmt::format("Class {}, kernel {}{}, transport {},{}{} {} per rank\n", common.problem, common.kernel,
                     kernels, common.transport,
                     names_sum ? fmt::format(" sum {},", sum_form_name(common.sum_form)) : "",
                     common.overlaps ? " overlap on," : "", format_count(common.thread_count, "thread"));
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
                                 best->configuration.grid.name(), best_s);
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
      text += fmt::format("  Failed: {}, {} of {}: {}: {}\n", cell.configuration.grid.name(),
                          cell.statuses.size(),
                          format_count(std::ssize(cell.statuses) + std::ssize(cell.times_s), "run"),
                          cell.statuses.front(), cell.reason);
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

std::string table_text(const Table& table, bool names_sum) {
  std::string text = title_of(table, names_sum) + lines_of(table);
  for (const auto& [rank_count, row] : table.rows) text += verdict_on(rank_count, row);
  return text + failures_of(table) + predictions_of(table);
}

}  // namespace

std::string sweep_tables(const std::vector<ResultRecord>& records) {
  const auto tables = tables_of(gathered(records));
  const bool names_sum = std::ranges::any_of(
      tables, [](const auto& table) { return table.common.sum_form != default_sum_form; });
  std::string text;
  for (const auto& table : tables) {
    if (!text.empty()) text += '\n';
    text += table_text(table, names_sum);
  }
  if (text.empty()) return "No results.\n";
  return text +
         "\nSeconds are medians; the per cent are the spread, (maximum - minimum) / median. * the best grid "
         "of its "
         "ranks,\no the grid of the official program. Px: process columns.\n";
}

}  // namespace cg2d
