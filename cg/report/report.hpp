#pragma once

// The formats of a run's report.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/block_layout.hpp"

namespace cg2d {

/// The version of the results of run and solve, as sweeps and batches hold them.
inline constexpr int result_schema_version = 1;

class MatrixSource;
struct Configuration;
struct Environment;
struct Problem;
struct RunReport;
struct StreamPlan;

/// One format; a new one is one file that defines a row, and its entry in the table.
struct ReportFormat {
  std::string_view name;
  std::string (*write)(const RunReport& report);
  /// Whether a run that could not start is reported in this format.
  bool writes_errors;
};
std::span<const ReportFormat> report_format_table();
const ReportFormat& report_format(std::string_view name);

/// The format "json" as a value.
nlohmann::ordered_json report_json(const RunReport& report);

/// The type of what cg2d run writes, for cg2d schema: a result, or a plan.
nlohmann::ordered_json run_result_type();

/// A run that --dry-run plans.
struct PlannedRun {
  const Problem& problem;
  const Configuration& configuration;
  const comm::BlockLayout& layout;
  const MatrixSource& source;
  const Environment& environment;         ///< environment of the ranks that plan
  bool is_here = true;                    ///< the planned ranks are those
  const StreamPlan* streaming = nullptr;  ///< with --out-of-core
};
/// The formats of a plan: those of describe_plan().
std::vector<std::string> plan_format_names();
std::string describe_plan(const PlannedRun& run, std::string_view format);

}  // namespace cg2d
