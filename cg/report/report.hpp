#pragma once

// Results, plans, the list of events, and traces: their documents, and their formats.

#include "cg/base/build_info.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/run/session_options.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class OutputFile;
struct RankTrace;
struct StreamPlan;

/// The version of the results of run and solve, as sweeps and batches hold them.
inline constexpr int result_schema_version = 1;

/// Version of the format, and the program that wrote it, this one unless another is named: the first members of every document.
void describe_head(Members& m, std::string* program_version = nullptr);
/// One member for each axis of the table; of those that sweeps cross, or of all.
void describe_axes(Members& m, Configuration& configuration, bool all = true);
/// Name, columns and rows.
void describe_grid(Members& m, comm::ProcessGrid& grid);

/// The result of cg2d run, alone or as a line of a sweep. Its result and phases are about the repetition with the median time.
struct RunDocument {
  RunReport report;
  bool has_result = !report.repeats.empty();
  std::optional<Roofline> roofline{};
  std::optional<SweptRun> sweep{};
  std::string program_version{build_info::version};
};
void describe(Members& m, RunDocument& document);
/// Both without what the generator found; the second without the reference, too.
void describe(Members& m, Problem& problem);
void describe_problem(Members& m, Problem& problem);

/// The result of cg2d solve, alone or as a line of a sweep.
struct SolveDocument {
  SystemOptions options;
  SolveReport report;
  std::optional<Roofline> roofline{};
  std::optional<SweptRun> sweep{};
  std::string program_version{build_info::version};
};
void describe(Members& m, SolveDocument& document);

/// The figures that text, CSV and comparisons show.
const std::vector<ShownFigure>& run_figures();
const std::vector<ShownFigure>& solve_figures();

/// The results of `cg2d run` and `cg2d solve`, in one of these formats.
inline const std::vector<std::string> run_formats{"text", "json", "csv"};
inline const std::vector<std::string> solve_formats{"text", "json"};
std::string write_report(const RunReport& report, std::string_view format);
std::string write_report(const SystemOptions& options, const SolveReport& report, std::string_view format);

// Two of their six lines of summary, each without its label:

/// "1x2, best of 3 tried: better than 2x1 by 85 % (80 ... 91 %); two-sided messages, 2 threads per rank".
std::string grid_summary(const Configuration& configuration, bool is_automatic,
                         const std::optional<GridTrial>& trial);
/// "sell, avx512 (requested)". trial: the verdict where a trial chose; nullptr else.
std::string kernel_summary(const Configuration& configuration, const std::string& instruction_set,
                           ChoiceOrigin origin, const RaceVerdict* trial = nullptr);

/// The document of a plan, for its schema.
void visit_plan_document(Members& m);

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
inline const std::vector<std::string> plan_formats{"text", "json"};
std::string describe_plan(const PlannedRun& run, std::string_view format);

// ---------------------------------------------------------------- the list of cg2d events

/// The events that can be counted on this machine, by purpose and by origin.
struct EventList {
  std::string remedy;  ///< that would make more events of the processor countable, and what is in its way
  std::vector<KnownEvent> events;
  std::vector<ResolvedEvents> groups;  ///< events of each group here, in the order of their table
};
void describe(Members& m, EventList& list);

/// Tries every event, and lists them as text or JSON. shows_all: as text, also events that cannot be counted here, with the
/// reason; JSON has them always. Local. Cost: as known_events(). Throws RunError.
std::string write_event_list(const std::string& format, bool shows_all);

// ---------------------------------------------------------------- traces
// A trace as a file that trace viewers open: Chrome's Trace Event Format, for Perfetto and others.

/// The lines of one rank's bars, each after a comma: "X" events with ts and dur in microseconds to
/// the nanosecond, pid: node, tid: rank.
std::string trace_lines(const RankTrace& trace);

/// The run or solve that a trace is of: all that the head of its file says.
struct TraceOrigin {
  const SessionReport& report;
  std::string arrangement;  ///< of the ranks: the grid, or "domain 1x2x2"
  bool has_grid = true;     ///< ranks have a process column and a process row
  std::vector<std::pair<std::string, std::string>> properties;  ///< others: "class", "matrix"
};

/// The origin of the trace of a run that was performed.
TraceOrigin trace_origin_of(const RunReport& report);

/// The whole file of ranks whose traces are all in this process.
std::string trace_text(const TraceOrigin& origin, std::span<const RankTrace> ranks);

/// Rank 0 receives the text of one rank after the other, and commits the file (null on the other ranks).
/// Collective. Throws RunError.
void write_trace(const TraceOrigin& origin, const RankTrace& mine, OutputFile* file, comm::RankGroup& group);

}  // namespace cg2d
