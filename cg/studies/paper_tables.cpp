#include "cg/studies/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cg/base/sample.hpp"
#include "cg/base/table.hpp"
#include "cg/timing/phase.hpp"

namespace cg2d {
namespace {

constexpr std::string_view source_of_tables =
    "The paper: K. Itakura, M. Matsubara, T. Boku, H. Nakamura, K. Nakazawa, \"Performance Evaluation of NPB "
    "Kernel CG\n"
    "on CP-PACS\", Transactions of the Information Processing Society of Japan 39(6), 1998. Its machine: "
    "CP-PACS, PU of\n"
    "150 MHz; its problem: class B. Here, clocks are reference clocks of this machine's counter, mean over "
    "the ranks, in\n"
    "the run with the median time; a PU is a rank.\n";

/// The rows of one problem that differ in their numbers of ranks only, and have one kernel.
using KernelRows = std::vector<const GridVerdict*>;

/// The rows of one problem that differ in kernel and number of ranks, by kernel: the first of the sweep first.
struct PaperStudy {
  ConfiguredProblem common;  ///< without grid and kernel
  std::vector<KernelRows> kernels;
};

ConfiguredProblem without_kernel(ConfiguredProblem asked) {
  asked.configuration.kernel = automatic_choice;
  return asked;
}

std::vector<PaperStudy> studies_of(const std::vector<GridVerdict>& rows) {
  std::vector<PaperStudy> studies;
  for (const auto& row : rows) {
    if (row.common.is_system()) continue;
    const auto common = without_kernel(row.common);
    auto study = std::ranges::find(studies, common, &PaperStudy::common);
    if (study == studies.end()) study = studies.insert(study, {.common = common, .kernels = {}});
    auto kernel = std::ranges::find_if(
        study->kernels, [&](const auto& known) { return known.front()->common == row.common; });
    if (kernel == study->kernels.end()) kernel = study->kernels.insert(kernel, KernelRows{});
    kernel->push_back(&row);
  }
  for (auto& study : studies) {
    for (auto& kernel : study.kernels) std::ranges::sort(kernel, {}, &GridVerdict::rank_count);
  }
  return studies;
}

std::string column_of(const MeasuredConfiguration& cell) {
  return fmt::format("Px = {}", cell.asked.configuration.grid.columns);
}

std::string kernel_text(const KernelRows& rows) {
  const auto& name = rows.front()->common.configuration.kernel;
  for (const auto& cell : rows.front()->cells) {
    if (name == automatic_choice && !cell.kernel_used.empty())
      return fmt::format("{} ({})", name, cell.kernel_used);
  }
  return name;
}

/// Tables 2 and 6.
std::string seconds_table(const KernelRows& rows) {
  std::map<int, std::string> all_columns;
  for (const auto* row : rows) {
    for (const auto& cell : row->cells) all_columns[cell.asked.configuration.grid.columns] = column_of(cell);
  }
  Table table;
  for (const auto* row : rows) {
    table.line().word("PU", std::to_string(row->rank_count));
    for (const auto& [columns, name] : all_columns) {
      const auto cell = std::ranges::find(row->cells, name, &column_of);
      const bool is_there = cell != row->cells.end() && cell->is_sound();
      table.number(name, is_there ? fmt::format("{:.4g}", sample_of(cell->times_s).median) : "");
    }
  }
  return table.text("");
}

/// A line of a table of clocks.
struct ClockLine {
  std::string_view name;
  std::vector<Phase> phases;  ///< added up
};

/// The clocks of one line by Px, per CG iteration or per product.
enum class ClocksPer { iteration, product };

std::string clocks_table(const GridVerdict& row, const std::vector<ClockLine>& lines, ClocksPer unit) {
  Table table;
  for (const auto& line : lines) {
    table.line().word("clocks", line.name);
    for (const auto& cell : row.cells) {
      if (!cell.is_sound() || !cell.median_run().work) continue;
      const auto& work = *cell.median_run().work;
      double clocks = 0.0;
      for (const auto phase : line.phases) clocks += work.clocks.at(index_of(phase));
      const double count =
          unit == ClocksPer::iteration ? work.step_count : work.calls.at(index_of(Phase::multiply));
      table.number(column_of(cell), count > 0.0 ? fmt::format("{:.0f}", clocks / count) : "");
    }
  }
  return table.text("");
}

std::string study_text(const PaperStudy& study) {
  const auto& first = study.kernels.front();
  const auto& largest = *first.back();
  const auto choices =
      fmt::format("class {}, {}", study.common.problem, largest.common.configuration.transport);
  const auto here = [&](const KernelRows& rows) {
    return fmt::format("here: {}, kernel {}", choices, kernel_text(rows));
  };
  const auto on_largest = fmt::format("{} PU", largest.rank_count);
  const auto seconds = [&](int number, std::string_view loop, const KernelRows& rows) {
    return fmt::format("\nTable {}. Execution time [s] (the paper: {}, 16 to 256 PU;\n{})\n", number, loop,
                       here(rows)) +
           seconds_table(rows);
  };
  const auto clocks = [&](int number, std::string_view what, std::string_view paper, const KernelRows& rows,
                          const std::vector<ClockLine>& lines, ClocksPer unit) {
    return fmt::format("\nTable {}. Clocks {} (the paper: 256 PU, {}; {}, {})\n", number, what, paper,
                       here(rows), on_largest) +
           clocks_table(*rows.back(), lines, unit);
  };
  auto text = seconds(2, "the compiler's loop, critical vector length 50", first) +
              clocks(3,
                     "per iteration: matvec with its communication, dotpro: all dot products of a step with "
                     "their sums,\ndaxpy: all vector updates",
                     "the compiler's loop", first,
                     {{"matvec", {Phase::collection, Phase::multiply, Phase::summation, Phase::shuffle}},
                      {"dotpro", {Phase::dot}},
                      {"daxpy", {Phase::vector_updates}}},
                     ClocksPer::iteration) +
              clocks(4, "per matvec", "critical vector length 50", first,
                     {{"Collection", {Phase::collection}},
                      {"Multiply", {Phase::multiply}},
                      {"Summation", {Phase::summation}},
                      {"Shuffle", {Phase::shuffle}}},
                     ClocksPer::product);
  if (study.kernels.size() < 2)
    return text +
           "\nTables 5 and 6 are of the paper's second loop: --kernel NAME,NAME measures a second kernel "
           "here.\n";
  const auto& second = study.kernels[1];
  return text +
         clocks(5, "of Multiply", "a loop by hand, critical vector length 20", second,
                {{"Multiply", {Phase::multiply}}}, ClocksPer::product) +
         seconds(6, "a loop by hand, critical vector length 20", second);
}

}  // namespace

std::string paper_tables(const std::vector<GridVerdict>& rows) {
  const auto studies = studies_of(rows);
  if (studies.empty()) return {};
  auto text = std::string(source_of_tables);
  for (const auto& study : studies) text += study_text(study);
  return text;
}

}  // namespace cg2d
