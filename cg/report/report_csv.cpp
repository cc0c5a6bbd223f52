// The report for spreadsheets: a header and one line per repetition, of the columns that the records name.

#include "cg/report/report.hpp"
#include "cg/report/run_record.hpp"
#include "cg/report/shown_figures.hpp"
#include "cg/run/run_report.hpp"

namespace cg2d {
namespace {

std::string write_csv(const RunReport& report) {
  static const auto record = with_columns(run_document_record());
  // Its number and its own quiet are figures of the line; the document is that of a run of this repetition alone.
  std::string text = csv_header(run_figures()) + ",repeat,disturbed\n";
  auto one_of_them = report;
  for (std::size_t k = 0; k < report.repeats.size(); ++k) {
    const auto& repeat = report.repeats[k];
    one_of_them.repeats.assign(1, repeat);
    text += csv_cells(run_figures(), json_of(record, {one_of_them, &repeat}));
    text += "," + std::to_string(k + 1) + (repeat.quiet.is_disturbed() ? ",yes\n" : ",no\n");
  }
  return text;
}

}  // namespace

ReportFormat csv_report_format() { return {.name = "csv", .write = &write_csv, .writes_errors = false}; }

}  // namespace cg2d
