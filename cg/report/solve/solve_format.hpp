#pragma once

// The formats of the report of `cg2d solve`.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "cg/report/phase_table.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/run/solve/solve_report.hpp"

namespace cg2d {

/// One format; a new one is one file that defines a row, and its entry in the table.
struct SolveFormat {
  std::string_view name;
  std::string (*write)(const SystemOptions& options, const SolveReport& report);
  bool writes_errors;  ///< whether a solve that could not start is reported in this format
};
std::span<const SolveFormat> solve_format_table();
const SolveFormat& solve_format(std::string_view name);

/// The object that the format "json" writes.
nlohmann::ordered_json solve_json(const SystemOptions& options, const SolveReport& report);

/// The phases of the table: those of the benchmark, unless there is no matrix.
PhaseFigures phase_figures(const SolveReport& report);

}  // namespace cg2d
