// The report for programs.

#include "cg/report/report.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/report/run_record.hpp"
#include "cg/report/session_record.hpp"
#include "cg/run/run_report.hpp"

namespace cg2d {
namespace {

std::string write_json(const RunReport& report) { return json_text(report_json(report), 2) + "\n"; }

}  // namespace

Json report_json(const RunReport& report) {
  return json_of(run_document_record(), {report, report.repeats.empty() ? nullptr : &median_repeat(report)});
}

Json environment_json(const Environment& environment) {
  return json_of(environment_record(), SeenEnvironment{environment});
}

std::string maker_of(const Environment& environment) {
  return maker_from(program_json(), environment_json(environment));
}

ReportFormat json_report_format() { return {.name = "json", .write = &write_json, .writes_errors = true}; }

}  // namespace cg2d
