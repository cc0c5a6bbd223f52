#include "cg/commands/session_commands.hpp"

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/report/report.hpp"
#include "cg/report/trace_file.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

/// The file of an option; none where it is not given. Collective.
std::unique_ptr<OutputFile> open_if_named(const std::string& path, comm::RankGroup& group) {
  return path.empty() ? nullptr : open_output(path, group);
}

/// The report of a session, in a format that may report failures, too.
struct SessionText {
  const std::string& path;
  bool writes_errors;
  std::function<std::string()> make;
};

/// The files that a session has opened, and how it writes those with results of other kinds.
struct SessionFiles {
  std::unique_ptr<OutputFile> report;
  std::unique_ptr<OutputFile> solution;
  std::unique_ptr<OutputFile> trace;
  std::function<void()> write_solution = [] {};
  std::function<void()> write_trace = [] {};
};

/// Programs that read results get one for a session that could not start, too, if it can be written.
void write_error_report(const SessionText& text, std::unique_ptr<OutputFile> output) {
  if (!text.writes_errors) return;
  try {
    if (!output) output = std::make_unique<OutputFile>(text.path);
    output->write(text.make());
    output->commit();
  } catch (const std::exception& error) {
    say_on_stderr(error.what());
  }
}

/// Does the work of a session, which opens its files, and writes the report, after a failure, too. Work that returns false has said all
/// that there is to say.
template <typename Session, typename Work>
ExitCode reported(Session& session, const SessionText& text, comm::RankGroup& group, const Work& work) {
  SessionFiles files;
  try {
    if (!work(files)) return ExitCode::success;
  } catch (const RunError& error) {
    session.record_failure(error);
    if (group.rank() == 0) write_error_report(text, std::move(files.report));
    throw;
  }
  write_each(group, {files.write_solution, files.write_trace,
                     [&] { write_output(files.report.get(), group, text.make); }});
  const auto& report = session.report();
  if (group.rank() == 0 && report.code != ExitCode::success) say_on_stderr(report.reason);
  return report.code;
}

/// Prints the plan of a run that is prepared.
void print_plan(const RunOptions& options, BenchmarkRun& run, comm::RankGroup& group) {
  const auto& configuration = run.report().configuration;
  const auto layout = make_layout(run.source().facts(), configuration);
  const auto& environment = *run.report().environment;
  const auto streaming = run.plan_streaming(layout);
  const auto output = open_output(options.output, group);
  write_output(output.get(), group, [&] {
    return describe_plan({.problem = options.problem,
                          .configuration = configuration,
                          .layout = layout,
                          .source = run.source(),
                          .environment = environment,
                          .is_here = options.planned_ranks == 0 || options.planned_ranks == group.size(),
                          .streaming = streaming ? &*streaming : nullptr},
                         options.format);
  });
}

TraceOrigin trace_origin_of(const SystemOptions& options, const SolveReport& report) {
  const bool has_grid = !report.matrix_free;
  return {.environment = *report.environment,
          .configuration = report.configuration,
          .ranks = report.ranks,
          .arrangement = has_grid ? report.configuration.grid.name() : report.matrix_free->arrangement,
          .has_grid = has_grid,
          .properties = {{"matrix", report.matrix->name},
                         {"variant", options.variant},
                         {"preconditioner", options.preconditioner}}};
}

}  // namespace

ExitCode run_benchmark(const RunOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  BenchmarkRun run(options, group, progress);
  const SessionText text{.path = options.output, .writes_errors = options.format == "json", .make = [&] {
                           return write_report(run.report(), options.format);
                         }};
  return reported(run, text, group, [&](SessionFiles& files) {
    run.prepare();
    if (options.dry_run) {
      print_plan(options, run, group);
      return false;
    }
    files.report = open_output(options.output, group);
    files.trace = open_if_named(options.trace.path, group);
    run.perform();
    files.write_trace = [&] {
      if (!run.trace()) return;
      write_trace(trace_origin_of(run.report()), *run.trace(), files.trace.get(), group);
      progress.say(fmt::format("wrote the trace to {}", options.trace.path));
    };
    return true;
  });
}

ExitCode solve_system(const SystemOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  SolveRun run(options, group, progress);
  const SessionText text{.path = options.output, .writes_errors = options.format == "json", .make = [&] {
                           return write_report(options, run.report(), options.format);
                         }};
  return reported(run, text, group, [&](SessionFiles& files) {
    run.prepare();
    files.report = open_output(options.output, group);
    files.solution = open_if_named(options.solution_path, group);
    files.trace = open_if_named(options.trace.path, group);
    run.perform();
    files.write_solution = [&] { run.write_solution(files.solution.get()); };
    files.write_trace = [&] {
      if (run.trace())
        write_trace(trace_origin_of(options, run.report()), *run.trace(), files.trace.get(), group);
    };
    return true;
  });
}

}  // namespace cg2d
