#include "cg/commands/session_commands.hpp"

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/report/report.hpp"
#include "cg/report/trace_file.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"

namespace cg2d {
namespace {

void add_feature_option(OptionSet& options, const FeatureOption& row) {
  options.begin_group(std::string(row.group));
  const std::string name(row.name);
  const std::string help(row.help);
  if (row.value.empty()) return options.add_flag(name, help, [] {});
  options.add_texts({name, std::string(row.value), help, std::string(row.default_text)}, false, {},
                    {.file = row.file});
}

void add_counter_options(OptionSet& options, SessionOptions& session) {
  options.begin_group("Counters and traces");
  add_event_options(options, session.counters, "PAPI_EVENTS of the environment, or none");
  options.add_flag("--papi-strict", "end with 69 if one of the events cannot be counted",
                   session.counters.strict);
  add_limits_option(options, session.measures_limits);
  options.add({"--trace", "FILE",
               "write a time line of every phase to FILE (Chrome-trace JSON); -: to standard output, instead "
               "of the report"},
              session.trace.path, {.file = FileUse::writes});
  add_trace_steps_option(options, session.trace.step_count, "--trace");
}

/// Throws InputError for settings of a kernel that are out of range, and for those that a kernel that is named has not.
void check_tuning(const kernels::Tuning& tuning, const Configuration& configuration) {
  require_not_negative("--cvl", tuning.critical_vector_length);
  require_not_negative("--prefetch", tuning.prefetch_distance);
  if (const auto width = tuning.block_width; width && !kernels::is_block_width(*width))
    throw InputError("--block-width {}: must be a power of two within 64 ... 65536", *width);
  // The critical vector length counts for every kernel: the report says how many rows are shorter.
  const auto* const kernel = kernels::find_kernel(configuration.kernel);
  if (kernel == nullptr) return;
  using Member = std::optional<int> kernels::Tuning::*;
  for (const auto& [option, member] :
       {std::pair<std::string_view, Member>("--prefetch", &kernels::Tuning::prefetch_distance),
        std::pair<std::string_view, Member>("--block-width", &kernels::Tuning::block_width)}) {
    if (!(tuning.*member) || kernel->defaults.*member) continue;
    throw InputError("{}: --kernel {} has no such setting; leave it out", option, kernel->name);
  }
}

}  // namespace

void add_grid_options(OptionSet& options, SessionOptions& session) {
  options.begin_group("Grid");
  add_grid_option(options, session,
                  "ranks as columns x rows, such as 2x4; auto tries the best few, rule measures nothing, "
                  "official is that of the official program");
  options.add({"--px", "N", "columns of the grid; the rows follow", "those of --grid"},
              session.open_grid.columns);
  for (const auto& axis : configuration_axes()) add_axis_option(options, axis.name, session.configuration);
  options.add({"--cvl", "N", "critical vector length of the csr kernels: shorter rows take a scalar loop",
               "the profile's"},
              session.tuning.critical_vector_length);
  options.add({"--prefetch", "N", "how many entries ahead a kernel fetches the matrix", "the profile's"},
              session.tuning.prefetch_distance);
  options.add({"--block-width", "N", "columns of a kernel's column blocks: a power of 2", "the profile's"},
              session.tuning.block_width);
  add_profile_options(options, session.profile);
  add_keep_disturbed_option(options, session.profile);
  add_bind_option(options, session.bind);
}

void add_display_options(OptionSet& options, SessionOptions& session) {
  add_host_name_option(options, session.names_hosts);
  options.add_flag("--verbose", "print everything that is known about the result", session.detail.is_verbose);
  options.add_flag("--clocks", "phase table in reference clocks, with their spread over the ranks",
                   session.detail.shows_clocks);
  add_progress_options(options, session.progress);
}

void add_memory_group(OptionSet& options, SessionOptions& session) {
  options.begin_group("Memory");
  add_memory_limit_option(options, session.memory_limit_bytes);
}

void add_feature_options(OptionSet& options, SessionOptions& session, WorkKind kind) {
  for (const auto& feature : feature_table()) {
    if (feature.only_for && *feature.only_for != kind) continue;
    for (const auto& option : feature.options) add_feature_option(options, option);
  }
  add_counter_options(options, session);
}

void resolve_session(SessionOptions& session, const OptionSet& given) {
  session.transport_is_default = !given.has("--transport");
  check_configuration(session.configuration);
  if (session.open_grid.columns && (session.configuration.has_grid() || session.open_grid.is_official))
    throw InputError("--px and --grid both name a grid: give one of them");
  check_tuning(session.tuning, session.configuration);
  const auto& configuration = session.configuration;
  resolve_profile(session.profile, !configuration.has_transport() || configuration.cut == speed_cut);
  for (const auto& feature : feature_table()) {
    OptionTexts texts;
    for (const auto& option : feature.options) {
      if (given.has(option.name)) texts[std::string(option.name)] = given.text_of(option.name);
    }
    if (feature.read != nullptr) feature.read(texts, session.features);
  }
}

namespace {

/// The file of an option; none where it is not given. Collective.
std::unique_ptr<OutputFile> open_if_named(const std::string& path, comm::RankGroup& group) {
  return path.empty() ? nullptr : open_output(path, group);
}

/// The files that a session has opened, and how it writes those with results of other kinds.
struct SessionFiles {
  std::unique_ptr<OutputFile> report;
  std::unique_ptr<OutputFile> solution;
  std::unique_ptr<OutputFile> trace;
  std::function<void()> write_solution = [] {};
  std::function<void()> write_trace = [] {};
};

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

/// Does the work of a session, which opens its files, and writes the report, after a failure, too. Work that returns false has said all
/// that there is to say.
template <typename Options, typename Session, typename MakeText, typename Work>
ExitCode reported(const Options& options, Session& session, comm::RankGroup& group, const MakeText& make_text,
                  const Work& work) {
  SessionFiles files;
  try {
    if (!work(files)) return ExitCode::success;
  } catch (const RunError& error) {
    session.record_failure(error);
    if (group.rank() == 0 && options.format == "json")
      write_error_report(options.output, std::move(files.report), make_text);
    throw;
  }
  write_each(group, {files.write_solution, files.write_trace,
                     [&] { write_output(files.report.get(), group, make_text); }});
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
  const auto make_text = [&] { return write_report(run.report(), options.format); };
  return reported(options, run, group, make_text, [&](SessionFiles& files) {
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
  const auto make_text = [&] { return write_report(options, run.report(), options.format); };
  return reported(options, run, group, make_text, [&](SessionFiles& files) {
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
