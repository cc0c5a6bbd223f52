#include "cg/studies/paper_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/table.hpp"
#include "cg/machine/cp_pacs_times.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

/// Kernels of the descriptions of CP-PACS.
constexpr std::string_view compiled_loop = "compiled";    // critical vector length 50
constexpr std::string_view hand_made_loop = "hand-made";  // 20

constexpr std::string_view own_machine = "CP-PACS";  // in Table 7

/// The machine's times for the runs of the paper.
class PaperModel {
 public:
  explicit PaperModel(const MachineDescription& machine) : machine_(machine) {
    if (machine.clock_hz <= 0.0)
      throw InputError(
          fmt::format("machine {} has no \"clock_hz\", in which the paper's tables are", machine.name));
  }

  [[nodiscard]] double seconds(std::string_view kernel, int rank_count, int columns) const {
    return predicted(kernel, rank_count, columns).total_s();
  }
  /// Clocks of a part of one product on 256 units.
  [[nodiscard]] double product_clocks(std::string_view kernel, int columns, Phase phase) const {
    const int products = OuterStepCalls::products * problem_.niter;
    return machine_.clock_hz * predicted(kernel, cp_pacs::most_ranks, columns).phase_s(phase) / products;
  }
  /// One dot product, and one vector update.
  [[nodiscard]] double dot_clocks(int columns) const {
    const auto layout = make_layout(facts_, configuration(compiled_loop, cp_pacs::most_ranks, columns));
    const auto calls = communication_costs(machine_, layout, {.sum_form = machine_.sum_form});
    const auto& vectors = machine_.vectors;
    return machine_.clock_hz * (calls.dot_s + vectors.dot_call_s + piece() * vectors.dot_s_per_element);
  }
  [[nodiscard]] double update_clocks() const {
    const auto& vectors = machine_.vectors;
    return machine_.clock_hz * (vectors.update_call_s + piece() * vectors.update_s_per_element);
  }

 private:
  [[nodiscard]] Configuration configuration(std::string_view kernel, int rank_count, int columns) const {
    return {.grid = {.columns = columns, .rows = rank_count / columns},
            .kernel = std::string(kernel),
            .sum_form = machine_.sum_form};
  }
  [[nodiscard]] Prediction predicted(std::string_view kernel, int rank_count, int columns) const {
    return predict(machine_, facts_, configuration(kernel, rank_count, columns), problem_.niter);
  }
  [[nodiscard]] double piece() const { return static_cast<double>(problem_.n) / cp_pacs::most_ranks; }

  const MachineDescription& machine_;
  Problem problem_ = *find_class("B");
  MatrixFacts facts_ = facts_of(problem_);
};

/// A row by Px. model(Px): the cell's number.
ComparedRow row_by_columns(std::string name, const cp_pacs::ByColumns& paper,
                           const std::function<double(int)>& model) {
  ComparedRow row{.name = std::move(name), .cells = {}};
  for (std::size_t k = 0; k < cp_pacs::columns.size(); ++k) {
    const int columns = cp_pacs::columns[k];
    row.cells.push_back(
        {.column = fmt::format("Px = {}", columns), .paper = paper[k], .model = model(columns)});
  }
  return row;
}

ComparedTable seconds_table(std::string name, std::string title, const cp_pacs::SecondsTable& paper,
                            const PaperModel& model, std::string_view kernel) {
  ComparedTable table{
      .name = std::move(name), .title = std::move(title), .unit = "s", .row_title = "units", .rows = {}};
  for (std::size_t k = 0; k < paper.size(); ++k) {
    const int rank_count = cp_pacs::rank_counts[k];
    table.rows.push_back(row_by_columns(std::to_string(rank_count), paper[k], [&](int columns) {
      return model.seconds(kernel, rank_count, columns);
    }));
  }
  return table;
}

/// How much faster than on the fewest units, with the same Px.
ComparedTable speed_up_of(const ComparedTable& seconds, std::string title) {
  ComparedTable table = seconds;
  table.name = "Speed-up of " + seconds.name;
  table.title = std::move(title);
  table.unit.clear();
  for (auto& row : table.rows) {
    for (std::size_t k = 0; k < row.cells.size(); ++k) {
      const auto& first = seconds.rows.front().cells[k];
      row.cells[k].paper = first.paper / row.cells[k].paper;
      row.cells[k].model = *first.model / *row.cells[k].model;
    }
  }
  table.rows.erase(table.rows.begin());
  return table;
}

/// model(name of the row, Px): clocks
ComparedTable clock_table(std::string name, std::string title, std::span<const cp_pacs::ClockRow> paper,
                          const std::function<double(std::string_view, int)>& model) {
  ComparedTable table{
      .name = std::move(name), .title = std::move(title), .unit = "clocks", .row_title = "part", .rows = {}};
  for (const auto& row : paper) {
    table.rows.push_back(row_by_columns(std::string(row.name), row.clocks,
                                        [&](int columns) { return model(row.name, columns); }));
  }
  return table;
}

/// own: Table 6, whose best grids are this machine's row.
ComparedTable other_machines(const ComparedTable& own) {
  ComparedTable table{.name = "Table 7",
                      .title = "CP-PACS and other machines, on the best grid",
                      .unit = "s",
                      .row_title = "machine",
                      .rows = {}};
  for (const auto& row : cp_pacs::table_7) {
    auto& named = table.rows.emplace_back(ComparedRow{.name = std::string(row.name), .cells = {}});
    for (std::size_t k = 0; k < cp_pacs::rank_counts.size(); ++k) {
      if (std::isnan(row.seconds[k])) continue;
      auto& cell = named.cells.emplace_back(
          ComparedCell{.column = fmt::format("P = {}", cp_pacs::rank_counts[k]), .paper = row.seconds[k]});
      if (row.name == own_machine)
        cell.model = std::ranges::min_element(own.rows[k].cells, {}, &ComparedCell::model)->model;
    }
  }
  return table;
}

/// The parts of a product.
constexpr std::array product_phases{Phase::collection, Phase::multiply, Phase::summation, Phase::shuffle};

std::string table_text(const ComparedTable& table) {
  const int decimals = table.unit == "clocks" ? 0 : 2;
  Table lines;
  for (const auto& row : table.rows) {
    lines.line().word(table.row_title, row.name);
    for (const auto& cell : row.cells) {
      lines.number(cell.column, "{:.{}f}", cell.paper, decimals);
      if (!cell.model) continue;
      lines.number(cell.column + " model", "{:.{}f}", *cell.model, decimals);
      lines.number(cell.column + " error", "{:+.1f} %", 100.0 * *cell.error());
    }
  }
  const auto errors = table.errors();
  constexpr double percent = 100.0;
  return fmt::format("\n {}: {}{}{}\n{}", table.name, table.title, table.unit.empty() ? "" : ", ", table.unit,
                     lines.text()) +
         fmt::format(" errors: median {:+.1f} %, of their magnitudes {:.1f} %, worst {:+.1f} % ({}, {})\n",
                     percent * errors.median, percent * errors.median_magnitude, percent * errors.worst,
                     errors.worst_row, errors.worst_column);
}

}  // namespace

std::optional<double> ComparedCell::error() const {
  return model ? std::optional(*model / paper - 1.0) : std::nullopt;
}

ComparisonErrors ComparedTable::errors() const {
  std::vector<double> signed_errors;
  std::vector<double> magnitudes;
  ComparisonErrors errors;
  for (const auto& row : rows) {
    for (const auto& cell : row.cells) {
      const auto error = cell.error();
      if (!error) continue;
      signed_errors.push_back(*error);
      magnitudes.push_back(std::abs(*error));
      if (std::abs(*error) < std::abs(errors.worst)) continue;
      errors.worst = *error;
      errors.worst_row = row.name;
      errors.worst_column = cell.column;
    }
  }
  errors.median = middle_of(std::move(signed_errors));
  errors.median_magnitude = middle_of(std::move(magnitudes));
  return errors;
}

std::vector<ComparedTable> compared_tables(const MachineDescription& machine) {
  const PaperModel model(machine);
  const auto parts_with = [&](std::string_view kernel) {
    return [&model, kernel](std::string_view name, int columns) {
      const auto phase = std::ranges::find(product_phases, name, &phase_name);
      return model.product_clocks(kernel, columns, *phase);
    };
  };
  const auto operations = [&](std::string_view name, int columns) {
    if (name == "dotpro") return model.dot_clocks(columns);
    if (name == "daxpy") return model.update_clocks();
    double clocks = 0.0;
    for (const auto phase : product_phases) clocks += model.product_clocks(compiled_loop, columns, phase);
    return clocks;
  };
  const std::string on_256 = ", 256 units";
  const std::string compiled = "compiled loop, critical vector length 50";
  const std::string hand_made = "hand-made loop, critical vector length 20";
  const std::string over_16 = "over 16 units with the same Px";
  const auto table_2 =
      seconds_table("Table 2", "class B, " + compiled, cp_pacs::table_2, model, compiled_loop);
  const auto table_6 =
      seconds_table("Table 6", "class B, " + hand_made, cp_pacs::table_6, model, hand_made_loop);
  return {table_2,
          clock_table("Table 3", "one product, dot product and update, " + compiled + on_256,
                      cp_pacs::table_3, operations),
          clock_table("Table 4", "parts of a product, " + compiled + on_256, cp_pacs::table_4,
                      parts_with(compiled_loop)),
          clock_table("Table 5", "part of a product, " + hand_made + on_256, cp_pacs::table_5,
                      parts_with(hand_made_loop)),
          table_6,
          other_machines(table_6),
          speed_up_of(table_2, over_16),
          speed_up_of(table_6, over_16)};
}

std::string comparison_text(const MachineDescription& machine) {
  std::string text = fmt::format("\n cg2d model --paper - {}: {}\n", machine.name, machine.description);
  for (const auto& table : compared_tables(machine)) text += table_text(table);
  return text + " error: model / paper - 1; the model knows nothing of other machines\n";
}

void describe(Members& m, ComparedTable& table) {
  m("name", table.name, not_empty());
  m("title", table.title, not_empty());
  m("unit", table.unit, meaning("s, clocks, or empty for ratios"));
  m("row_title", table.row_title, not_empty());
  m.list("rows", table.rows, {.fewest = 1}, [&](ComparedRow& row, std::size_t /*index*/) {
    m("name", row.name, not_empty());
    m.list("cells", row.cells, {.fewest = 1}, [&](ComparedCell& cell, std::size_t /*index*/) {
      m("column", cell.column, not_empty());
      m("paper", cell.paper, positive());
      m("model", cell.model, at_least(0, "Not for other machines."));
      m.derived("error", cell.error(), meaning("model / paper - 1."));
    });
  });
  m.object("errors", [&] {
    const auto errors = table.errors();
    m.derived("median", errors.median, meaning("With its sign."));
    m.derived("median_magnitude", errors.median_magnitude, at_least(0));
    m.derived("worst", errors.worst, meaning("The largest magnitude, with its sign."));
    m.derived("worst_row", errors.worst_row);
    m.derived("worst_column", errors.worst_column);
  });
}

void describe(Members& m, PaperComparison& comparison) {
  m.constant("schema_version", 1);
  m("machine", comparison.machine, not_empty());
  m("tables", comparison.tables,
    {.meaning = "The tables of the paper, each number beside the model's.", .fewest = 1});
}

}  // namespace cg2d
