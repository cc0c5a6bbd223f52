#include "cg/studies/scaling_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/remaining_time.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/report/report.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/studies/scaling_plan.hpp"
#include "cg/studies/scaling_table.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "comm/communicator.hpp"

namespace cg2d {
namespace {

/// Means over the ranks, of the reported repetition.
CommunicationShares communication_shares(const RunReport& report) {
  CommunicationShares shares;
  const auto& ranks = median_repeat(report).ranks;
  for (const auto& rank : ranks) {
    std::uint64_t clocks = 0;
    std::uint64_t waited_clocks = 0;
    for (std::size_t index = 0; index < benchmark_phase_count; ++index) {
      if (!operation_of(phase_at(index))) continue;
      clocks += rank.phases.at(index).clocks;
      waited_clocks += rank.phases.at(index).waited_clocks;
    }
    const double whole = static_cast<double>(rank.region_clocks) * static_cast<double>(ranks.size());
    shares.moving += static_cast<double>(clocks - waited_clocks) / whole;
    shares.waiting += static_cast<double>(waited_clocks) / whole;
  }
  return shares;
}

ScalingRun scaling_run_of(const ScalingWay& way, int round, const RunReport& report) {
  ScalingRun run{.way = way,
                 .round = round,
                 .code = report.code,
                 .reason = report.reason,
                 .problem = report.problem,
                 .disturbance = disturbance(report)};
  if (report.is_resolved) run.configuration = report.configuration;
  if (!run.succeeded()) return run;
  run.time_s = median_repeat(report).time_s;
  run.zeta = final_step(report).zeta;
  run.shares = communication_shares(report);
  return run;
}

/// One comparison. Ranks that take no part in a run sleep in the agreement that follows it.
class WayComparison {
 public:
  WayComparison(const ScalingOptions& options, comm::RankGroup& group)
      : options_(options), group_(group), first_ranks_(group), progress_(options.progress, group.rank()) {
    group_.waiter().set_mode(comm::WaitMode::sleep);
    study_.problem = options.problem;
    study_.weak = options.weak;
    study_.transports = options.transports;
    study_.configuration = options.common.configuration;
  }

  ExitCode execute() {
    plan();
    const auto output = open_output(options_.output, group_);
    measure();
    write_output(output.get(), group_, [&] { return scaling_format(options_.format).write(study_); });
    return conclude();
  }

 private:
  void plan() {
    study_.core_counts = options_.core_counts;
    if (study_.core_counts.empty()) study_.core_counts = usual_core_counts(group_.size());
    study_.core_counts.push_back(1);  // speed-up and efficiency refer to it
    std::ranges::sort(study_.core_counts);
    study_.core_counts.erase(std::unique(study_.core_counts.begin(), study_.core_counts.end()),
                             study_.core_counts.end());
    require_started("--cores", study_.core_counts.back(), group_.size());
    for (const int core_count : study_.core_counts)
      static_cast<void>(scaled_problem(study_.problem, core_count, study_.weak));
    if (study_.transports.empty()) study_.transports = {"two-sided", "shared"};
    study_.ways = ways_of(study_.core_counts, study_.transports, study_.configuration);
    study_.machine = inspect_environment(group_, 1);
    if (options_.common.names_hosts) name_by_host(*study_.machine);
    if (group_.rank() == 0)
      study_.provenance = inspect_provenance(*study_.machine, options_.common.names_hosts);
    leave_out_unavailable_transports();
    leave_out_ways_without_room();
    study_.round_count = options_.round_count.value_or(rounds_for_verdicts(study_.ways));
  }

  void warn(const std::string& text) {
    if (std::ranges::find(study_.warnings, text) == study_.warnings.end()) study_.warnings.push_back(text);
  }

  /// A transport that was named must be available; of the usual ones the available ones run.
  void leave_out_unavailable_transports() {
    std::erase_if(study_.ways, [&](const ScalingWay& way) {
      const auto reason = why_unavailable(way);
      if (reason.empty()) return false;
      const auto text = fmt::format("transport {} cannot serve {}: {}", way.configuration.transport,
                                    format_count(way.rank_count, "rank"), reason);
      if (!options_.transports.empty()) throw RunError(ExitCode::unavailable, "--transport: " + text);
      warn(text + "; its ways are left out");
      return true;
    });
  }

  /// Why the transport of a way is unavailable; the same text on every rank. Collective.
  std::string why_unavailable(const ScalingWay& way) {
    const auto* const transport = comm::find_transport(way.configuration.transport);
    if (transport == nullptr || way.rank_count == 1) return {};
    std::string reason;
    if (auto* const group = first_ranks_.of(way.rank_count)) reason = transport->why_unavailable(*group);
    return group_.broadcast(std::move(reason));
  }

  /// Rank 0 takes part in every way, so it sees what the others see, and broadcasts one letter per way.
  void leave_out_ways_without_room() {
    std::string stays;
    std::vector<std::string> bound;
    for (const auto& way : study_.ways) {
      auto* const group = first_ranks_.of(way.rank_count);
      const auto seen =
          group != nullptr ? inspect_environment(*group, way.configuration.thread_count) : Environment{};
      if (group_.rank() != 0) continue;
      const auto room = room_for(way, *study_.machine, seen);
      stays += room == Room::enough || room == Room::shared ? 'y' : 'n';
      if (room == Room::bound) bound.push_back(way.label());
      if (room == Room::no_node)
        warn(way.label() + ": left out, since no node has a core for each of its threads");
      if (room == Room::shared)
        warn(fmt::format("{}: there are fewer here; ranks and threads share them",
                         format_count(way.core_count(), "core")));
    }
    if (!bound.empty()) {
      warn(fmt::format(
          "left out, since the launcher binds their ranks to fewer cores than they have threads: {}; start "
          "the ranks unbound (mpiexec -bind-to none)",
          fmt::join(bound, "; ")));
    }
    stays = group_.broadcast(std::move(stays));
    std::size_t index = 0;
    std::erase_if(study_.ways, [&](const auto& /*way*/) { return stays[index++] == 'n'; });
  }

  void measure() {
    const InterruptWatch watch;
    for (int round = 1; round <= study_.round_count && !study_.is_interrupted; ++round)
      perform_round(study_.ways, round, watch);
    if (options_.until_sure && !study_.is_interrupted) add_rounds(watch);
  }

  /// Every second round goes backwards, so that a steady drift of the machine favours no way.
  void perform_round(std::vector<ScalingWay> ways, int round, const InterruptWatch& watch) {
    if (round % 2 == 0) std::ranges::reverse(ways);
    for (std::size_t k = 0; k < ways.size(); ++k) {
      study_.is_interrupted = group_.maximum(static_cast<std::int64_t>(watch.asked())) != 0;
      if (study_.is_interrupted) return;
      left_of_round_.assign(ways.begin() + static_cast<std::ptrdiff_t>(k), ways.end());
      begin(round);
      perform(ways[k], round);
    }
  }

  /// The first of the ways that are left of this round begins.
  void begin(int round) const {
    progress_.begin(place_of(study_.runs.size() + 1, left_of_round_.front(), round));
    if (group_.rank() != 0 || study_.runs.empty()) return;
    progress_.expect(expected_s(times_, left_of_round_.front()) + rest_s(times_, round));
  }

  /// Seconds of all runs after that which is under way.
  [[nodiscard]] double rest_s(const WorkTimes& times, int round) const {
    double seconds = 0.0;
    for (std::size_t k = 1; k < left_of_round_.size(); ++k) seconds += expected_s(times, left_of_round_[k]);
    for (int later = round + 1; later <= study_.round_count; ++later) {
      for (const auto& way : study_.ways) seconds += expected_s(times, way);
    }
    return seconds;
  }

  /// "run 3 of 12 (2 cores, ranks only, two-sided, 2 x 1, round 1)".
  [[nodiscard]] std::string place_of(std::size_t number, const ScalingWay& way, int round) const {
    return fmt::format("run {} of {} ({}, round {})", number,
                       study_.ways.size() * static_cast<std::size_t>(study_.round_count), way.label(), round);
  }

  [[nodiscard]] double expected_s(const WorkTimes& times, const ScalingWay& way) const {
    return times.expected(work_of(way)).value_or(0.0);
  }

  [[nodiscard]] Work work_of(const ScalingWay& way) const {
    const auto problem = scaled_problem(options_.problem, way.core_count(), options_.weak);
    return {.key = way.label(),
            .kind = fmt::format("{} cores", way.core_count()),
            .amount = expected_work(problem, way.core_count())};
  }

  /// Blocks of rounds of the ways whose verdicts are open, until none is, or a round would not fit into the
  /// time.
  void add_rounds(const InterruptWatch& watch) {
    const Stopwatch added;
    double round_s = 0.0;
    int round = study_.round_count;
    for (auto open = open_ways(); !open.empty(); open = open_ways()) {
      for (const int last = rounds_after_next_block(round, open.size()); round < last;) {
        const double begin_s = group_.maximum(added.seconds());
        if (begin_s + round_s > options_.until_sure->budget_s) return say_that_budget_is_spent();
        perform_round(open, ++round, watch);
        if (study_.is_interrupted) return;
        round_s = group_.maximum(added.seconds()) - begin_s;
      }
    }
  }

  void say_that_budget_is_spent() const {
    if (group_.rank() == 0) say_on_stderr("--budget is spent; the table says what is not distinguishable");
  }

  /// The ways that are still open, on every rank: rank 0, which has the runs, broadcasts one letter per way.
  std::vector<ScalingWay> open_ways() {
    std::string letters(study_.ways.size(), 'n');
    if (group_.rank() == 0) {
      for (const auto& ranking : rankings_of(study_)) {
        for (const auto index : open_alternatives(ranking.verdict, options_.until_sure->precision)) {
          const auto place = std::ranges::find(study_.ways, ranking.ways[index]) - study_.ways.begin();
          letters[static_cast<std::size_t>(place)] = 'y';
        }
      }
    }
    letters = group_.broadcast(std::move(letters));
    std::vector<ScalingWay> open;
    for (std::size_t k = 0; k < study_.ways.size(); ++k) {
      if (letters[k] == 'y') open.push_back(study_.ways[k]);
    }
    return open;
  }

  void perform(const ScalingWay& way, int round) {
    agree_on(group_, [&] {
      auto* const group = first_ranks_.of(way.rank_count);
      if (group == nullptr) return;
      const Stopwatch watch;
      const Progress progress(Progress::Within{progress_, [&](double left_s) {
                                                 auto times = times_;
                                                 times.add(work_of(way), watch.seconds() + left_s);
                                                 return left_s + rest_s(times, round);
                                               }});
      const auto report = complete_run(run_options_for(way), *group, progress);
      times_.add(work_of(way), watch.seconds());
      // Every other run would fail in the same way.
      if (report.code == ExitCode::usage || report.code == ExitCode::unavailable)
        throw RunError(report.code, report.reason);
      if (group_.rank() == 0) note(way, round, report);
    });
  }

  void note(const ScalingWay& way, int round, const RunReport& report) {
    study_.runs.push_back(scaling_run_of(way, round, report));
    for (const auto& warning : report.warnings) warn(warning);
    const auto& run = study_.runs.back();
    auto result = run.succeeded() ? fmt::format("{:.4g} s", run.time_s)
                                  : fmt::format("{}: {}", status_name(run.code), run.reason);
    if (run.is_disturbed()) result += fmt::format(", disturbed ({})", run.disturbance);
    progress_.say(fmt::format("{}: {}", place_of(study_.runs.size(), way, round), result));
  }

  [[nodiscard]] RunOptions run_options_for(const ScalingWay& way) const {
    RunOptions options = options_.common;
    options.problem = scaled_problem(options_.problem, way.core_count(), options_.weak);
    options.open_grid.tries_grids = false;
    options.configuration = way.configuration;
    options.stops_when_asked = false;
    return options;
  }

  /// From the runs, which rank 0 has.
  ExitCode conclude() {
    std::int64_t code = 0;
    if (group_.rank() == 0) {
      const auto verdict = verdict_on(study_);
      code = static_cast<std::int64_t>(verdict.code);
      if (verdict.code != ExitCode::success) say_on_stderr(verdict.reason);
    }
    return static_cast<ExitCode>(group_.maximum(code));
  }

  const ScalingOptions& options_;
  comm::RankGroup& group_;
  FirstRanks first_ranks_;
  Progress progress_;
  WorkTimes times_;                        // seconds of whole runs, on their ranks
  std::vector<ScalingWay> left_of_round_;  // from the one under way on
  ScalingStudy study_;                     // its runs and warnings on rank 0
};

}  // namespace

ExitCode compare_ways(const ScalingOptions& options, comm::RankGroup& group) {
  return WayComparison(options, group).execute();
}

}  // namespace cg2d
