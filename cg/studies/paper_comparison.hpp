#pragma once

// The tables of the paper, each number beside that of a described machine.

#include <optional>
#include <string>
#include <vector>

#include "cg/machine/machine_description.hpp"

namespace cg2d {

/// A number of the paper, and the model's.
struct ComparedCell {
  std::string column;
  double paper = 0.0;
  std::optional<double> model{};  ///< none for other machines

  /// model / paper - 1
  [[nodiscard]] std::optional<double> error() const;
};

/// A machine, a number of processing units, or a phase.
struct ComparedRow {
  std::string name;
  std::vector<ComparedCell> cells;
};

struct ComparisonErrors {
  double median = 0.0;            ///< with its sign; of an even number of cells the lower of the middle two
  double median_magnitude = 0.0;  ///< likewise
  double worst = 0.0;             ///< the largest magnitude, with its sign
  std::string worst_row;
  std::string worst_column;
};

struct ComparedTable {
  std::string name;  ///< "Table 6"
  std::string title;
  std::string unit;  ///< "s", "clocks", or empty for ratios
  std::string row_title;
  std::vector<ComparedRow> rows;

  [[nodiscard]] ComparisonErrors errors() const;
};

/// Tables 2 to 7, and the speed-up over 16 units in Tables 2 and 6. Throws InputError for a machine without the kernels "compiled" and
/// "hand-made", or without a clock.
std::vector<ComparedTable> compared_tables(const MachineDescription& machine);

std::string comparison_text(const MachineDescription& machine);

/// The document of `cg2d model --paper --format json`.
struct PaperComparison {
  std::string machine;
  std::vector<ComparedTable> tables;
};
class Members;
void describe(Members& m, ComparedTable& table);
void describe(Members& m, PaperComparison& comparison);

}  // namespace cg2d
