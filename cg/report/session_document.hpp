#pragma once

// The members of results that runs and solves have in common.

#include <optional>
#include <string>
#include <vector>

#include "cg/base/describe.hpp"
#include "cg/report/phase_figures.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/report/shown_figures.hpp"
#include "cg/run/run_report.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/run/solve/solve_report.hpp"

namespace cg2d {

enum class WorkKind;

/// Version of the format, and the program that wrote it: the first members of every document.
void describe_head(Members& m, std::string& program_version);
void describe_head(Members& m);
/// One member for each axis of the table; of those that sweeps cross, or of all.
void describe_axes(Members& m, Configuration& configuration, bool all = true);
/// Name, columns and rows.
void describe_grid(Members& m, comm::ProcessGrid& grid);

/// A region in a document, beside the figures of its ranks.
struct RegionFindings {
  bool are_timed = false;
  bool are_counted = false;    ///< events were asked for
  double timing_share = 0.0;   ///< of the region, for reading the clocks
  double reading_share = 0.0;  ///< for reading the events
  std::optional<Roofline> roofline{};
  std::vector<std::optional<double>> accounts{};  ///< of each counted event, by the system
  std::vector<Phase> phases{};                    ///< of a step
};

/// The result of cg2d run, alone or as a line of a sweep.
struct RunDocument {
  RunReport report;
  std::optional<RepeatReport> repeat{};  ///< that its result and phases are about; empty: none is complete
  RegionFindings region{};
  std::optional<SweptRun> sweep{};
  std::string program_version{};
};
/// The document of one of its repetitions; of that with the median time.
RunDocument run_document(const RunReport& report, const RepeatReport* repeat);
RunDocument run_document(const RunReport& report);
void describe(Members& m, RunDocument& document);
/// Both without what the generator found; the second without the reference, too.
void describe(Members& m, Problem& problem);
void describe_problem(Members& m, Problem& problem);

/// The result of cg2d solve, alone or as a line of a sweep.
struct SolveDocument {
  SystemOptions options;
  SolveReport report;
  RegionFindings region{};
  std::optional<SweptRun> sweep{};
  std::string program_version{};
};
SolveDocument solve_document(const SystemOptions& options, const SolveReport& report);
void describe(Members& m, SolveDocument& document);

// Parts of both.

/// Status, reason, exit code and warnings.
void describe_end(Members& m, SessionReport& report);
/// Provenance and environment; null where the work ended before they were known.
void describe_origin(Members& m, SessionReport& report);
/// Members of a configuration: the grid, the axes, and the trials that chose them.
void describe_configuration(Members& m, SessionReport& report);
/// The block of a rank, and its memory.
void describe_block(Members& m, const SessionReport& report, RankResult& rank);
/// The sections of features that were used.
void describe_features(Members& m, SessionReport& report, WorkKind kind);
/// The findings of a region for a document.
RegionFindings findings_of(const PhaseFigures& figures);
/// phases, roofline and counters; null where there are none. figures: of the region, as far as it is known before.
void describe_region(Members& m, SessionReport& report, RepeatReport& repeat, RegionFindings& found,
                     const PhaseFigures& figures);

/// Those that text, CSV and comparisons show.
const std::vector<ShownFigure>& run_figures();
const std::vector<ShownFigure>& solve_figures();

}  // namespace cg2d
