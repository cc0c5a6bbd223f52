#pragma once

// The description of a solve's result.

#include "cg/base/json_record.hpp"
#include "cg/report/shown_figures.hpp"

namespace cg2d {

struct SolveReport;
struct SystemOptions;

/// A solve as it was asked for, and what came of it.
struct SolvedSystem {
  const SystemOptions& options;
  const SolveReport& report;
};

const Record<SolvedSystem>& solve_document_record();
/// Those that text and comparisons show.
const std::vector<ShownFigure>& solve_figures();

}  // namespace cg2d
