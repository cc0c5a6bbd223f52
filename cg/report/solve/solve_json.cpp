// The report of a solve for programs.

#include "cg/report/solve/solve_format.hpp"
#include "cg/report/solve/solve_record.hpp"

namespace cg2d {
namespace {

std::string write_json(const SystemOptions& options, const SolveReport& report) {
  return json_text(solve_json(options, report), 2) + "\n";
}

}  // namespace

Json solve_json(const SystemOptions& options, const SolveReport& report) {
  return json_of(solve_document_record(), {options, report});
}

SolveFormat json_solve_format() { return {.name = "json", .write = &write_json, .writes_errors = true}; }

}  // namespace cg2d
