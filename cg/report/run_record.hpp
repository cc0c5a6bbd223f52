#pragma once

// The descriptions of a run's result and of its parts.

#include "cg/base/json_record.hpp"
#include "cg/report/shown_figures.hpp"

namespace cg2d {

struct Problem;
struct RepeatReport;
struct RunReport;

/// A run, and the repetition that its result and phases are about.
struct ReportedRun {
  const RunReport& report;
  const RepeatReport* repeat = nullptr;  ///< nullptr: none is complete
};

const Record<Problem>& problem_record();  ///< without what the generator says of it
const Record<ReportedRun>& run_document_record();
/// Those that text, CSV and comparisons show.
const std::vector<ShownFigure>& run_figures();
/// A run's result, or a plan.
FigureType run_result_type();

}  // namespace cg2d
