#include <fmt/format.h>

#include <concepts>
#include <exception>
#include <memory>
#include <utility>

#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/report/report.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

/// The file of an option; none where it is not given. Collective.
std::unique_ptr<OutputFile> open_if_named(const std::string& path, comm::RankGroup& group) {
  return path.empty() ? nullptr : open_output(path, group);
}

/// Programs that read results get one for a session that could not start, too, if it can be written.
template <typename MakeText>
void write_error_report(const std::string& path, std::unique_ptr<OutputFile> output,
                        const MakeText& make_text) {
  try {
    if (!output) output = std::make_unique<OutputFile>(path);
    output->write(make_text());
    output->commit();
  } catch (const std::exception& error) {
    say_on_stderr(error.what());
  }
}

/// Prints the plan of a run that is prepared.
ExitCode print_plan(const RunOptions& options, BenchmarkRun& run, comm::RankGroup& group) {
  const auto& configuration = run.report().configuration;
  const auto layout = make_layout(run.source().facts(), configuration);
  const auto& environment = *run.report().environment;
  const auto streaming = run.plan_streaming(layout);
  write_output(options.output, group, [&] {
    return describe_plan({.problem = options.problem,
                          .configuration = configuration,
                          .layout = layout,
                          .source = run.source(),
                          .environment = environment,
                          .is_here = options.planned_ranks == 0 || options.planned_ranks == group.size(),
                          .streaming = streaming ? &*streaming : nullptr},
                         options.format);
  });
  return ExitCode::success;
}

TraceOrigin trace_origin_of(const SystemOptions& options, const SolveReport& report) {
  const bool has_grid = !report.matrix_free;
  return {.report = report,
          .arrangement = has_grid ? report.configuration.grid.name() : report.matrix_free->arrangement,
          .has_grid = has_grid,
          .properties = {{"matrix", report.matrix->name},
                         {"variant", options.variant},
                         {"preconditioner", options.preconditioner}}};
}

/// Does the work of a session, which is a BenchmarkRun or a SolveRun, opens its files before, and writes them and the report; after a failure
/// the report, too.
template <typename Session, typename Options>
ExitCode perform_session(const Options& options, comm::RankGroup& group) {
  constexpr bool is_solve = std::same_as<Session, SolveRun>;
  const Progress progress(options.progress, group.rank());
  Session session(options, group, progress);
  const auto& report = session.report();
  const auto make_text = [&] {
    if constexpr (is_solve) {
      return write_report(options, report, options.format);
    } else {
      return write_report(report, options.format);
    }
  };
  std::unique_ptr<OutputFile> output;
  std::unique_ptr<OutputFile> solution;
  std::unique_ptr<OutputFile> trace;
  try {
    session.prepare();
    if constexpr (!is_solve) {
      if (options.dry_run) return print_plan(options, session, group);
    }
    output = open_output(options.output, group);
    if constexpr (is_solve) solution = open_if_named(options.solution_path, group);
    trace = open_if_named(options.trace.path, group);
    session.perform();
  } catch (const RunError& error) {
    session.record_failure(error);
    if (group.rank() == 0 && options.format == "json")
      write_error_report(options.output, std::move(output), make_text);
    throw;
  }
  const auto write_solution = [&] {
    if constexpr (is_solve) session.write_solution(solution.get());
  };
  const auto write_the_trace = [&] {
    if (!session.trace()) return;
    if constexpr (is_solve) {
      write_trace(trace_origin_of(options, report), *session.trace(), trace.get(), group);
    } else {
      write_trace(trace_origin_of(report), *session.trace(), trace.get(), group);
      progress.say(fmt::format("wrote the trace to {}", options.trace.path));
    }
  };
  write_each(group, {write_solution, write_the_trace, [&] { write_output(output.get(), group, make_text); }});
  if (group.rank() == 0 && report.code != ExitCode::success) say_on_stderr(report.reason);
  return report.code;
}

}  // namespace

ExitCode run_benchmark(const RunOptions& options, comm::RankGroup& group) {
  return perform_session<BenchmarkRun>(options, group);
}

ExitCode solve_system(const SystemOptions& options, comm::RankGroup& group) {
  return perform_session<SolveRun>(options, group);
}

}  // namespace cg2d
