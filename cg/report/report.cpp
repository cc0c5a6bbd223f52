#include "cg/report/report.hpp"

#include <algorithm>
#include <array>

namespace cg2d {

// Rows, each defined in its own file.
ReportFormat text_report_format();
ReportFormat json_report_format();
ReportFormat csv_report_format();

std::span<const ReportFormat> report_format_table() {
  static const std::array table{text_report_format(), json_report_format(), csv_report_format()};
  return table;
}

const ReportFormat& report_format(std::string_view name) {
  const auto table = report_format_table();
  return *std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
}

}  // namespace cg2d
