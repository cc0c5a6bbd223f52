#include "cg/commands/solve_command.hpp"

#include <exception>
#include <memory>

#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/report/solve/solve_format.hpp"
#include "cg/report/trace_file.hpp"
#include "cg/run/solve/solve_run.hpp"

namespace cg2d {
namespace {

/// Programs that read results get one for a solve that could not start, too, if it can be written.
void write_error_report(const SystemOptions& options, const SolveReport& report,
                        std::unique_ptr<OutputFile> output) {
  const auto& format = solve_format(options.format);
  if (!format.writes_errors) return;
  try {
    if (!output) output = std::make_unique<OutputFile>(options.output);
    output->write(format.write(options, report));
    output->commit();
  } catch (const std::exception&) {
    // The error that is being reported comes first.
  }
}

void write_trace_of(const SystemOptions& options, const SolveRun& run, OutputFile* file,
                    comm::RankGroup& group) {
  const auto& report = run.report();
  const bool has_grid = !report.matrix_free;
  write_trace({.environment = *report.environment,
               .configuration = report.configuration,
               .ranks = report.ranks,
               .cut = has_grid ? report.configuration.grid.name() : report.matrix_free->cut,
               .has_grid = has_grid,
               .properties = {{"matrix", report.matrix->name},
                              {"variant", options.variant},
                              {"preconditioner", options.preconditioner}}},
              *run.trace(), file, group);
}

}  // namespace

ExitCode solve_system(const SystemOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  SolveRun run(options, group, progress);
  std::unique_ptr<OutputFile> output;
  try {
    run.prepare();
    output = open_output(options.output, group);
    std::unique_ptr<OutputFile> solution;
    if (!options.solution_path.empty()) solution = open_output(options.solution_path, group);
    std::unique_ptr<OutputFile> trace;
    if (!options.trace.path.empty()) trace = open_output(options.trace.path, group);
    run.perform(solution.get());
    if (run.trace()) write_trace_of(options, run, trace.get(), group);
  } catch (const RunError& error) {
    run.note_failure(error);
    if (group.rank() == 0) write_error_report(options, run.report(), std::move(output));
    throw;
  }
  const auto& report = run.report();
  write_output(output.get(), group, [&] { return solve_format(options.format).write(options, report); });
  if (group.rank() == 0 && report.code != ExitCode::success) say_on_stderr(report.reason);
  return report.code;
}

}  // namespace cg2d
