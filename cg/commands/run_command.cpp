#include "cg/commands/run_command.hpp"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <optional>

#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/report/report.hpp"
#include "cg/report/trace_file.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

/// A run with its output.
class RunCommand {
 public:
  RunCommand(const RunOptions& options, comm::RankGroup& group)
      : options_(options),
        group_(group),
        progress_(options.progress, group.rank()),
        run_(options, group, progress_) {}

  ExitCode execute() {
    try {
      run_.prepare();
      if (options_.dry_run) return print_plan();
      output_ = open_output(options_.output, group_);
      if (!options_.report.empty()) results_file_ = open_output(options_.report, group_);
      if (!options_.trace.path.empty()) trace_file_ = open_output(options_.trace.path, group_);
      run_.perform();
      if (run_.trace()) write_trace_file();
    } catch (const RunError& error) {
      run_.note_failure(error);
      write_error_report();
      throw;
    }
    write_output(output_.get(), group_, [&] { return format().write(report()); });
    write_output(results_file_.get(), group_, [&] { return results_file_text(report()); });
    if (group_.rank() == 0 && report().code != ExitCode::success) say_on_stderr(report().reason);
    return report().code;
  }

 private:
  [[nodiscard]] const ReportFormat& format() const { return report_format(options_.format); }
  [[nodiscard]] const RunReport& report() const { return run_.report(); }

  ExitCode print_plan() {
    const bool is_here = options_.planned_ranks == 0 || options_.planned_ranks == group_.size();
    const auto& configuration = report().configuration;
    const auto layout = make_layout(run_.source().facts(), configuration);
    const auto environment = run_.granted_environment();
    const auto streaming = run_.plan_streaming(layout);
    output_ = open_output(options_.output, group_);
    write_output(output_.get(), group_, [&] {
      return describe_plan({.problem = options_.problem,
                            .configuration = configuration,
                            .layout = layout,
                            .source = run_.source(),
                            .environment = environment,
                            .is_here = is_here,
                            .streaming = streaming ? &*streaming : nullptr},
                           options_.format);
    });
    return ExitCode::success;
  }

  void write_trace_file() {
    write_trace(trace_origin_of(report()), *run_.trace(), trace_file_.get(), group_);
    progress_.say(fmt::format("wrote the trace to {}", options_.trace.path));
  }

  /// Programs that read results get one for a run that could not start, too, if it can be written.
  void write_error_report() {
    if (group_.rank() != 0 || !format().writes_errors) return;
    try {
      if (!output_) output_ = std::make_unique<OutputFile>(options_.output);
      output_->write(format().write(report()));
      output_->commit();
    } catch (const std::exception&) {
      // The error that is being reported comes first.
    }
  }

  const RunOptions& options_;
  comm::RankGroup& group_;
  Progress progress_;
  BenchmarkRun run_;
  std::unique_ptr<OutputFile> output_;
  std::unique_ptr<OutputFile> results_file_;  // on rank 0, with --report
  std::unique_ptr<OutputFile> trace_file_;    // on rank 0, if there is to be a trace
};

}  // namespace

ExitCode run_benchmark(const RunOptions& options, comm::RankGroup& group) {
  return RunCommand(options, group).execute();
}

}  // namespace cg2d
