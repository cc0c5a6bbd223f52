#include "cg/sweep_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "cg/sample.hpp"
#include "cg/text_format.hpp"

namespace cg2d {
namespace {

/// The cells of one table, by ranks and columns.
struct Table {
  std::string class_name;
  std::string kernel;
  std::string transport;
  int thread_count = 1;
  std::map<int, std::map<int, MeasuredConfiguration>> rows;

  [[nodiscard]] bool takes(const SweepConfiguration& configuration) const {
    return class_name == configuration.class_name && kernel == configuration.kernel &&
           transport == configuration.transport && thread_count == configuration.thread_count;
  }
};

std::vector<Table> tables_of(const std::vector<MeasuredConfiguration>& measured) {
  std::vector<Table> tables;
  for (const auto& cell : measured) {
    const auto& configuration = cell.configuration;
    auto table = std::ranges::find_if(tables, [&](const auto& known) { return known.takes(configuration); });
    if (table == tables.end()) {
      tables.push_back({.class_name = configuration.class_name,
                        .kernel = configuration.kernel,
                        .transport = configuration.transport,
                        .thread_count = configuration.thread_count,
                        .rows = {}});
      table = tables.end() - 1;
    }
    table->rows[configuration.grid.rank_count()].emplace(configuration.grid.columns, cell);
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

std::string title_of(const Table& table) {
  std::set<std::string> used;
  for (const auto& [ranks, row] : table.rows) {
    for (const auto& [columns, cell] : row) {
      if (!cell.kernel_used.empty()) used.insert(cell.kernel_used);
    }
  }
  std::string kernels;
  if (table.kernel == "auto" && !used.empty()) {
    kernels = fmt::format(" ({})", fmt::join(used, ", "));
  }
  return fmt::format("Class {}, kernel {}{}, transport {}, {} per rank\n", table.class_name, table.kernel,
                     kernels, table.transport, format_count(table.thread_count, "thread"));
}

std::set<int> columns_of(const Table& table) {
  std::set<int> all;
  for (const auto& [ranks, row] : table.rows) {
    for (const auto& [columns, cell] : row) all.insert(columns);
  }
  return all;
}

/// One line per rank count; `text` gives a cell, and nothing where there is none.
template <typename Text>
std::string lines_of(const Table& table, const Text& text) {
  const auto all_columns = columns_of(table);
  std::string lines = "     P";
  for (const int columns : all_columns)
    lines += fmt::format("{:>{}}", fmt::format("Px = {:<7}", columns), cell_width);
  lines += "\n";
  for (const auto& [rank_count, row] : table.rows) {
    std::string line = fmt::format("{:>6}", rank_count);
    for (const int columns : all_columns) {
      const auto cell = row.find(columns);
      line += fmt::format("{:>{}}", cell == row.end() ? std::string() : text(row, cell->second), cell_width);
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
  bool has_any = false;
  auto lines = lines_of(table, [&](const Row&, const MeasuredConfiguration& cell) {
    if (!cell.predicted_s) return std::string();
    has_any = true;
    return fmt::format("{:.4g}       ", *cell.predicted_s);
  });
  return has_any ? "  Predicted seconds\n" + lines : std::string();
}

std::string table_text(const Table& table) {
  std::string text = title_of(table);
  text += lines_of(
      table, [](const Row& row, const MeasuredConfiguration& cell) { return cell_text(cell, best_of(row)); });
  for (const auto& [rank_count, row] : table.rows) text += verdict_on(rank_count, row);
  return text + failures_of(table) + predictions_of(table);
}

}  // namespace

std::vector<MeasuredConfiguration> gathered(const std::vector<ResultRecord>& records) {
  std::vector<MeasuredConfiguration> all;
  for (const auto& record : records) {
    auto found = std::ranges::find_if(
        all, [&](const auto& known) { return known.configuration == record.configuration; });
    if (found == all.end()) {
      all.emplace_back().configuration = record.configuration;
      found = all.end() - 1;
    }
    if (!record.kernel_used.empty()) found->kernel_used = record.kernel_used;
    found->n = record.n;
    if (record.predicted_s) found->predicted_s = record.predicted_s;
    if (record.succeeded()) {
      found->times_s.insert(found->times_s.end(), record.times_s.begin(), record.times_s.end());
    } else {
      if (found->statuses.empty()) found->reason = record.reason;
      found->statuses.push_back(record.status);
    }
  }
  return all;
}

std::string sweep_tables(const std::vector<ResultRecord>& records) {
  std::string text;
  for (const auto& table : tables_of(gathered(records))) {
    if (!text.empty()) text += '\n';
    text += table_text(table);
  }
  if (text.empty()) return "No results.\n";
  return text +
         "\nSeconds are medians; the per cent are the spread, (maximum - minimum) / median. * the best grid "
         "of its "
         "ranks,\no the grid of the official program. Px: process columns.\n";
}

}  // namespace cg2d
