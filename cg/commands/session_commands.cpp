#include <fmt/format.h>

#include <concepts>
#include <exception>
#include <memory>

#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/report/report.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

/// Prints the plan of a run that is prepared.
ExitCode print_plan(const RunOptions& options, BenchmarkRun& run, comm::RankGroup& group) {
  const auto& configuration = run.report().configuration;
  const auto layout = make_layout(run.source().facts(), configuration);
  const auto& environment = *run.report().environment;
  const auto streaming = run.plan_streaming(layout);
  return print_text(options.output, group, [&] {
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
    if constexpr (is_solve) {
      if (!options.solution_path.empty()) solution = open_output(options.solution_path, group);
    }
    if (!options.trace.path.empty()) trace = open_output(options.trace.path, group);
    session.perform();
  } catch (const RunError& error) {
    session.record_failure(error);
    if (group.rank() != 0 || options.format != "json") throw;
    // Programs that read results get one for a session that could not start, too, if it can be written.
    try {
      if (!output) output = std::make_unique<OutputFile>(options.output);
      output->write(make_text());
      output->commit();
    } catch (const std::exception& another) {
      say_on_stderr(another.what());
    }
    throw;
  }
  const auto write_solution = [&] {
    if constexpr (is_solve) session.write_solution(solution.get());
  };
  const auto write_the_trace = [&] {
    if (!session.trace()) return;
    if constexpr (is_solve) {
      const bool has_grid = !report.matrix_free;
      write_trace(
          {.report = report,
           .arrangement = has_grid ? report.configuration.grid.name() : report.matrix_free->arrangement,
           .has_grid = has_grid,
           .properties = {{"matrix", report.matrix->name},
                          {"variant", options.variant},
                          {"preconditioner", options.preconditioner}}},
          *session.trace(), trace.get(), group);
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
