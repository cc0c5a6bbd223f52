#include "cg/studies/studied_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/describe_json.hpp"
#include "cg/base/output_file.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "cg/report/session_document.hpp"
#include "cg/report/trace_file.hpp"
#include "cg/run/solve/solve_report.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

CommunicationShares communication_shares(const RepeatReport& repeat) {
  CommunicationShares shares;
  for (const auto& rank : repeat.ranks) {
    std::uint64_t clocks = 0;
    std::uint64_t waited_clocks = 0;
    for (const auto& phase : phase_table()) {
      if (!phase.communicates()) continue;
      const auto& record = rank.phases.at(index_of(phase.phase));
      clocks += record.clocks;
      waited_clocks += record.waited_clocks;
    }
    const double whole = static_cast<double>(rank.region_clocks) * static_cast<double>(repeat.ranks.size());
    shares.moving += static_cast<double>(clocks - waited_clocks) / whole;
    shares.waiting += static_cast<double>(waited_clocks) / whole;
  }
  return shares;
}

/// repeat: of a run that succeeded.
StudiedRun studied_run_of(const SessionReport& report, const std::function<const RepeatReport&()>& repeat) {
  StudiedRun run{.code = report.code, .reason = report.reason, .warnings = report.warnings};
  if (report.is_resolved) {
    run.arrangement = report.configuration.grid.name();
    run.kernel = report.configuration.kernel;
  }
  if (!run.succeeded()) return run;
  run.time_s = repeat().time_s;
  run.shares = communication_shares(repeat());
  return run;
}

// ---------------------------------------------------------------- the benchmark

class BenchmarkWork final : public StudiedWork {
 public:
  BenchmarkWork(std::vector<Problem> problems, RunOptions common, ExtraRuns extras, std::string trace_file)
      : problems_(std::move(problems)),
        common_(std::move(common)),
        extras_(std::move(extras)),
        trace_file_(std::move(trace_file)) {}

  void prepare(const ConfiguredProblem& /*asked*/, comm::RankGroup& /*ranks*/,
               const Progress& /*progress*/) override {}

  StudiedResult perform(const ConfiguredProblem& asked, RunPurpose purpose, comm::RankGroup& ranks,
                        const Progress& progress) override {
    auto options = common_;
    options.problem = problem_of(asked);
    options.configuration = asked.configuration;
    options.open_grid.tries_grids = false;
    options.stops_when_asked = false;
    options.counters.reads_environment = false;
    if (purpose == RunPurpose::counters) options.counters = extras_.counters;
    options.measures_limits = purpose == RunPurpose::limits;
    if (purpose == RunPurpose::trace)
      options.trace = {.path = trace_file_, .step_count = extras_.trace.step_count};
    auto report = purpose == RunPurpose::trace ? traced_run(options, ranks, progress)
                                               : complete_run(options, ranks, progress);
    auto run = studied_run_of(
        report, [&]() -> auto& { return median_repeat(report); });
    run.n = report.problem.n;
    run.disturbance = disturbance(report);
    if (run.succeeded()) run.zeta = final_step(report).zeta;
    return {.run = std::move(run),
            .json = [report = std::move(report)] { return json_of(run_document(report)); }};
  }

  [[nodiscard]] double expected_work(const ConfiguredProblem& asked, int core_count) const override {
    return cg2d::expected_work(problem_of(asked), core_count);
  }

 private:
  [[nodiscard]] const Problem& problem_of(const ConfiguredProblem& asked) const {
    return *std::ranges::find(problems_, asked.problem, &problem_name);
  }

  /// Makes a run as complete_run(), with its trace in a file.
  static RunReport traced_run(const RunOptions& options, comm::RankGroup& ranks, const Progress& progress) {
    BenchmarkRun run(options, ranks, progress);
    try {
      run.prepare();
      const auto file = open_output(options.trace.path, ranks);
      run.perform();
      if (run.trace()) write_trace(trace_origin_of(run.report()), *run.trace(), file.get(), ranks);
    } catch (const RunError& error) {
      run.record_failure(error);
    }
    return run.report();
  }

  std::vector<Problem> problems_;
  RunOptions common_;
  ExtraRuns extras_;
  std::string trace_file_;
};

// ---------------------------------------------------------------- systems

class SystemWork final : public StudiedWork {
 public:
  explicit SystemWork(std::vector<SystemOptions> systems) : systems_(std::move(systems)) {}

  void prepare(const ConfiguredProblem& asked, comm::RankGroup& ranks, const Progress& progress) override {
    static_cast<void>(kept_for(system_options_for(system_of(asked), asked), ranks, progress));
  }

  StudiedResult perform(const ConfiguredProblem& asked, RunPurpose /*purpose*/, comm::RankGroup& ranks,
                        const Progress& progress) override {
    auto options = system_options_for(system_of(asked), asked);
    SolveRun solve(options, ranks, progress, kept_for(options, ranks, progress));
    try {
      solve.prepare();
      solve.perform();
    } catch (const RunError& error) {
      solve.record_failure(error);
    }
    auto report = solve.report();
    auto run = studied_run_of(
        report, [&]() -> auto& { return report.repeat; });
    run.arrangement =
        report.matrix_free ? report.matrix_free->arrangement : "grid " + report.configuration.grid.name();
    if (report.matrix) run.n = report.matrix->order;
    if (report.quiet) run.disturbance = report.quiet->reason();
    return {.run = std::move(run), .json = [options = std::move(options), report = std::move(report)] {
              return json_of(solve_document(options, report));
            }};
  }

  [[nodiscard]] double expected_work(const ConfiguredProblem& /*asked*/, int core_count) const override {
    return 1.0 / core_count;
  }

 private:
  using Key = std::tuple<std::string, int, std::optional<std::uint64_t>>;  // text, ranks, seed

  [[nodiscard]] const SystemOptions& system_of(const ConfiguredProblem& asked) const {
    return *std::ranges::find(systems_, asked.problem, &system_name);
  }

  /// Reads or generates the matrix of these options unless it is there; none for a system without one. Throws as
  /// read_system().
  KeptSystem kept_for(const SystemOptions& options, comm::RankGroup& ranks, const Progress& progress) {
    if (options.is_matrix_free()) return {};
    auto& matrix = matrices_[{options.matrix_text(), ranks.size(), permutation_seed_of(options)}];
    if (!matrix) {
      const auto environment =
          inspect_environment(ranks, options.configuration.thread_count, options.memory_limit_bytes);
      matrix = read_system(options, ranks, progress, [&](const ExpectedMatrix& expected) {
        agree_on(ranks, [&] {
          check_memory(environment, [&](int /*rank*/) { return expected.making_bytes / ranks.size(); });
        });
      });
    }
    // Whatever moves the vectors: the transport makes no difference to blocks.
    auto any_transport = options.configuration;
    any_transport.transport = comm::default_transport().name;
    const auto place =
        fmt::format("{} {} {}", options.matrix_text(), ranks.size(), configuration_key(any_transport));
    return {.matrix = matrix.get(), .kernel_trial = &kernel_trials_[place]};
  }

  std::vector<SystemOptions> systems_;
  std::map<Key, std::unique_ptr<SystemMatrix>> matrices_;
  std::map<std::string, std::optional<KernelTrial>>
      kernel_trials_;  // by all that a block and its steps depend on
};

}  // namespace

std::unique_ptr<StudiedWork> benchmark_work(std::vector<Problem> problems, RunOptions common,
                                            ExtraRuns extras, std::string trace_file) {
  return std::make_unique<BenchmarkWork>(std::move(problems), std::move(common), std::move(extras),
                                         std::move(trace_file));
}

std::unique_ptr<StudiedWork> system_work(std::vector<SystemOptions> systems) {
  return std::make_unique<SystemWork>(std::move(systems));
}

SystemOptions measured_system(SystemOptions options, int iteration_count) {
  // Far below what rounding leaves, and its square is still a normal number: subnormal ones are slow.
  options.relative_tolerance = 1e-100;
  options.absolute_tolerance = 0.0;
  options.most_iterations = iteration_count;
  options.measures_iterations = true;
  return options;
}

SystemOptions system_options_for(const SystemOptions& system, const ConfiguredProblem& asked) {
  auto options = system;
  options.configuration = asked.configuration;
  options.assembles = !system.operator_text.empty() && !asked.is_matrix_free();
  options.open_grid.tries_grids = false;
  if (asked.cuts_domain()) {
    options.configuration.grid = {.columns = 0, .rows = 0};
    if (const auto parts = asked.arrangement(); !parts.empty()) options.domain_grid = domain_grid_from(parts);
  }
  if (asked.is_matrix_free()) options.configuration.cut = automatic_choice;
  return options;
}

}  // namespace cg2d
