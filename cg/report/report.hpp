#pragma once

// The formats of a run's report.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cg/machine/environment.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/run/run_report.hpp"
#include "cg/tuning/run_plan.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// One format; a new one is one file that defines a row, and its entry in the table.
struct ReportFormat {
  std::string_view name;
  std::string (*write)(const RunReport& report);
  /// Whether a run that could not start still has something to say in this format.
  bool writes_errors;
};
std::span<const ReportFormat> report_format_table();
const ReportFormat& report_format(std::string_view name);

ReportFormat text_report_format();
ReportFormat json_report_format();
ReportFormat csv_report_format();

/// The plan that --dry-run prints.
std::string describe_plan(const RunChoices& choices, const comm::BlockLayout& layout,
                          const MatrixSource& source, const std::optional<Environment>& environment,
                          std::string_view format);

}  // namespace cg2d
