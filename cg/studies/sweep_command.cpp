#include "cg/studies/sweep_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/report/report.hpp"
#include "cg/report/trace_file.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/studies/sweep_file.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/tuning/kernel_choice.hpp"

namespace cg2d {
namespace {

bool contains(const std::vector<ConfiguredProblem>& all, const ConfiguredProblem& one) {
  return std::ranges::find(all, one) != all.end();
}

/// One sweep. Ranks that take no part in a run sleep in the agreement that follows it.
class SweepInRounds {
 public:
  SweepInRounds(const SweepRounds& options, SweptRuns& runs, comm::RankGroup& group)
      : options_(options),
        runs_(runs),
        group_(group),
        first_ranks_(group),
        progress_(options.progress, group.rank()),
        durations_([&runs](const ConfiguredProblem& asked) { return runs.expected_work(asked); }) {
    group_.waiter().set_mode(comm::WaitMode::sleep);
  }

  ExitCode execute() {
    plan();
    open_file();
    const InterruptWatch watch;
    if (!perform_all(watch)) return interrupted();
    const Stopwatch added;
    while (options_.until_sure && add_rounds(added.seconds())) {
      if (!perform_all(watch)) return interrupted();
    }
    if (!make_extra_runs(watch)) return interrupted();
    return conclude();
  }

 private:
  void plan() {
    configurations_ = runs_.configurations();
    const int needed = rounds_for_verdicts(configurations_);
    round_count_ = options_.round_count.value_or(needed);
    steps_ = interleaved(configurations_, {.first = 1, .last = round_count_});
    progress_.say(fmt::format("{}, {}, {}", format_count(std::ssize(configurations_), "configuration"),
                              format_count(round_count_, "round"), reason_for_rounds(needed)));
  }

  [[nodiscard]] std::string reason_for_rounds(int needed) const {
    if (!options_.round_count) return "as many as a verdict on them needs (--repeat takes another number)";
    if (round_count_ < needed) return fmt::format("too few for a verdict on them, which needs {}", needed);
    return "as --repeat asks";
  }

  void open_file() {
    const auto environment = inspect_environment(group_, 1);
    agree_on(group_, [&] {
      if (group_.rank() != 0) return;
      const auto maker = rendered([&] { return maker_of(environment); });
      file_ = std::make_unique<SweepFile>(options_.output, options_.fresh, maker);
    });
    if (group_.rank() == 0) {
      for (const auto& record : file_->records()) note(record);
      if (file_->was_cut())
        progress_.say(fmt::format("{}: dropped a line that was cut off", options_.output));
    }
    skip_what_is_there();
  }

  /// Rank 0 reads the file and broadcasts one letter per step: 'y' if the file has it, else the number of its
  /// next attempt.
  void skip_what_is_there() {
    std::string is_there;
    if (group_.rank() == 0) {
      for (const auto& step : steps_) is_there += letter_of(step);
      const auto present = std::ranges::count(is_there, 'y');
      if (present > 0)
        progress_.say(
            fmt::format("{}: {} of {} runs are there already", options_.output, present, steps_.size()));
    }
    is_there = group_.broadcast(std::move(is_there));
    std::vector<SweepStep> missing;
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      if (is_there[k] == 'y') continue;
      missing.push_back(steps_[k]);
      missing.back().attempt = is_there[k] - '0';
    }
    steps_ = std::move(missing);
  }

  [[nodiscard]] char letter_of(const SweepStep& step) const {
    const auto is_last = [&](const ResultRecord& record) {
      return record.round == step.round && record.purpose == step.purpose && record.asked == step.asked &&
             !record.is_replaced;
    };
    const auto last = std::ranges::find_if(file_->records(), is_last);
    if (last == file_->records().end()) return '1';
    const bool lacks_its_trace =
        step.purpose == RunPurpose::trace && last->succeeded() && !std::filesystem::exists(trace_file());
    return must_repeat(*last) || lacks_its_trace ? static_cast<char>('1' + last->attempt) : 'y';
  }

  /// A failed run is never replaced.
  [[nodiscard]] bool must_repeat(const ResultRecord& record) const {
    return record.succeeded() && record.is_disturbed() && record.attempt <= options_.most_retries;
  }

  void note(const ResultRecord& record) {
    // The file may have problems of which this sweep knows nothing.
    if (record.duration_s && record.purpose == RunPurpose::time && contains(configurations_, record.asked))
      durations_.add(record.asked, *record.duration_s);
  }

  /// False where a signal asked to end.
  bool perform_all(const InterruptWatch& watch) {
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      if (group_.maximum(static_cast<std::int64_t>(watch.asked())) != 0) return false;
      perform(k);
    }
    return true;
  }

  [[nodiscard]] std::string trace_file() const { return trace_file_of(options_.output); }

  /// After all timed runs, whose medians they must not disturb. False where a signal asked to end.
  bool make_extra_runs(const InterruptWatch& watch) {
    steps_ = extra_steps(configurations_, options_.extras);
    skip_what_is_there();
    if (!perform_all(watch)) return false;
    if (!options_.extras.traces_best) return true;
    plan_trace();
    skip_what_is_there();
    return perform_all(watch);
  }

  /// Rank 0 knows the best one, and tells its number.
  void plan_trace() {
    auto number = std::ssize(configurations_);
    if (group_.rank() == 0) {
      const auto traced = traced_configuration(records_of_plan());
      if (traced) number = std::ranges::find(configurations_, *traced) - configurations_.begin();
    }
    const auto agreed = static_cast<std::size_t>(group_.minimum(static_cast<std::int64_t>(number)));
    steps_.clear();
    if (agreed < configurations_.size())
      steps_.push_back({.asked = configurations_[agreed], .purpose = RunPurpose::trace});
  }

  /// Plans one more block of rounds for the configurations whose verdicts are open. False where there are none,
  /// or no time is left. Rank 0 decides and broadcasts one letter per configuration.
  bool add_rounds(double spent_s) {
    std::string is_open;
    std::int64_t first_round = 0;
    std::int64_t last_round = 0;
    if (group_.rank() == 0) {
      const auto records = records_of_plan();
      const auto open = open_configurations(records, options_.until_sure->precision);
      for (const auto& one : configurations_) is_open += contains(open, one) ? 'y' : 'n';
      const auto rounds = added_rounds(records, open);
      const auto affordable = affordable_rounds(open, options_.until_sure->budget_s - spent_s);
      if (!open.empty() && affordable == 0)
        say_on_stderr("--budget is spent; the tables say what is not distinguishable");
      first_round = rounds.first;
      last_round = std::min<std::int64_t>(rounds.last, rounds.first + affordable - 1);
    }
    is_open = group_.broadcast(std::move(is_open));
    const RoundRange rounds{.first = static_cast<int>(group_.maximum(first_round)),
                            .last = static_cast<int>(group_.maximum(last_round))};
    std::vector<ConfiguredProblem> open;
    for (std::size_t k = 0; k < configurations_.size(); ++k) {
      if (is_open[k] == 'y') open.push_back(configurations_[k]);
    }
    steps_ = interleaved(open, rounds);
    return !steps_.empty();
  }

  /// The file may have other configurations, too.
  [[nodiscard]] std::vector<ResultRecord> records_of_plan() const {
    std::vector<ResultRecord> records;
    std::ranges::copy_if(file_->records(), std::back_inserter(records),
                         [&](const auto& record) { return contains(configurations_, record.asked); });
    return records;
  }

  /// Rounds of these configurations that are expected to fit into the time.
  [[nodiscard]] std::int64_t affordable_rounds(const std::vector<ConfiguredProblem>& open,
                                               double seconds) const {
    const double round_s = std::max(1e-3, durations_.expected(interleaved(open, {})).value_or(0.0));
    return std::llround(std::floor(std::clamp(seconds / round_s, 0.0, 1e6)));
  }

  void perform(std::size_t index) {
    const auto step = steps_[index];
    begin(index);
    const Stopwatch watch;
    std::function<nlohmann::ordered_json()> make_result;
    if (auto* const group = first_ranks_.of(step.asked.configuration.grid.rank_count()))
      make_result = runs_.perform(step, *group,
                                  Progress(Progress::Within{progress_, [&](double left_s) {
                                                              return rest_s(index, watch.seconds(), left_s);
                                                            }}));
    const double duration_s = watch.seconds();
    std::int64_t repeats = 0;
    agree_on(group_, [&] {
      if (group_.rank() != 0) return;
      // A run that fails is a result, too.
      file_->append(rendered([&] { return sweep_json(make_result(), step, circumstances_of(duration_s)); }));
      note(file_->records().back());
      repeats = must_repeat(file_->records().back()) ? 1 : 0;
      tell(index);
    });
    if (group_.maximum(repeats) != 0) repeat_step(steps_, index);
  }

  [[nodiscard]] SweepCircumstances circumstances_of(double duration_s) const {
    return {.round_count = round_count_,
            .duration_s = duration_s,
            .session = file_->session(),
            .sitting = file_->sitting(),
            .trace_file = trace_file()};
  }

  /// "run 3 of 12 (S 2x1 ..., round 1)".
  [[nodiscard]] std::string place_of(std::size_t index) const {
    const auto& step = steps_[index];
    const auto part = step.purpose == RunPurpose::time ? fmt::format("round {}", step.round)
                                                       : fmt::format("for {}", purpose_name(step.purpose));
    return fmt::format("run {} of {} ({}, {})", index + 1, steps_.size(), step.asked.key(), part);
  }

  void begin(std::size_t index) const {
    progress_.begin(place_of(index));
    expect_from(index);
  }

  void expect_from(std::size_t index) const {
    if (group_.rank() != 0) return;
    if (const auto rest = durations_.expected(steps_from(index))) progress_.expect(*rest);
  }

  /// Seconds to the end, where that run goes on for left_s: the others go by it, too.
  [[nodiscard]] double rest_s(std::size_t index, double spent_s, double left_s) const {
    auto durations = durations_;
    durations.add(steps_[index].asked, spent_s + left_s);
    return left_s + durations.expected(steps_from(index + 1)).value_or(0.0);
  }

  [[nodiscard]] std::vector<SweepStep> steps_from(std::size_t index) const {
    return {steps_.begin() + static_cast<std::ptrdiff_t>(index), steps_.end()};
  }

  void tell(std::size_t index) const {
    const auto& record = file_->records().back();
    auto result = record.succeeded() ? fmt::format("{:.4g} s", record.times_s.front())
                                     : record.status + ": " + record.reason;
    if (record.is_disturbed()) result += fmt::format(", disturbed ({})", record.disturbance);
    expect_from(index + 1);
    progress_.say(fmt::format("{}: {}", place_of(index), result));
  }

  ExitCode interrupted() {
    if (group_.rank() == 0) {
      say_on_stderr(
          fmt::format("interrupted by a signal; the same command goes on where {} ends", options_.output));
    }
    return ExitCode::interrupted;
  }

  ExitCode conclude() {
    std::int64_t code = 0;
    write_output(open_output("", group_).get(), group_,
                 [&] { return sweep_tables(file_->records(), options_.tables); });
    if (group_.rank() == 0) {
      for (const auto& record : file_->records()) {
        if (code == 0) code = record.exit_code;
      }
      if (code != 0) say_on_stderr("some runs failed; the tables say which");
    }
    return static_cast<ExitCode>(group_.maximum(code));
  }

  const SweepRounds& options_;
  SweptRuns& runs_;
  comm::RankGroup& group_;
  FirstRanks first_ranks_;
  Progress progress_;
  std::vector<ConfiguredProblem> configurations_;
  int round_count_ = 0;
  std::vector<SweepStep> steps_;     ///< still to be made
  std::unique_ptr<SweepFile> file_;  // on rank 0
  RunDurations durations_;
};

/// Makes a run as complete_run(), with its trace in a file. Collective over the group.
RunReport traced_run(const RunOptions& options, comm::RankGroup& group, const Progress& progress) {
  BenchmarkRun run(options, group, progress);
  try {
    run.prepare();
    const auto file = open_output(options.trace.path, group);
    run.perform();
    if (run.trace()) write_trace(trace_origin_of(run.report()), *run.trace(), file.get(), group);
  } catch (const RunError& error) {
    run.note_failure(error);
  }
  return run.report();
}

/// Complete runs of the benchmark.
class BenchmarkRuns final : public SweptRuns {
 public:
  BenchmarkRuns(const SweepOptions& options, comm::RankGroup& group) : options_(options), group_(group) {}

  std::vector<ConfiguredProblem> configurations() override {
    auto axes = options_.axes;
    const bool names_ranks = !axes.rank_counts.empty();
    if (!names_ranks) axes.rank_counts = usual_rank_counts(axes.named, group_.size());
    require_started(names_ranks ? "--ranks" : "--grid", *std::ranges::max_element(axes.rank_counts),
                    group_.size());
    auto configurations = configurations_of(axes, options_.common.configuration);
    // A file that is no profile is an error of this command line, not a result of each of its runs.
    static_cast<void>(load_profile(options_.common.profile, inspect_environment(group_, 1), group_));
    require_countable();
    return configurations;
  }

  std::function<nlohmann::ordered_json()> perform(const SweepStep& step, comm::RankGroup& group,
                                                  const Progress& progress) override {
    RunOptions options = options_.common;
    options.problem = problem_of(step.asked);
    options.configuration = step.asked.configuration;
    options.stops_when_asked = false;
    const auto& extras = options_.rounds.extras;
    options.counters.reads_environment = false;
    if (step.purpose == RunPurpose::counters) options.counters = extras.counters;
    options.measures_limits = step.purpose == RunPurpose::limits;
    if (step.purpose == RunPurpose::trace) {
      options.trace = {.path = trace_file_of(options_.rounds.output), .step_count = extras.trace.step_count};
      return [report = traced_run(options, group, progress)] { return report_json(report); };
    }
    return [report = complete_run(options, group, progress)] { return report_json(report); };
  }
  [[nodiscard]] double expected_work(const ConfiguredProblem& asked) const override {
    return cg2d::expected_work(problem_of(asked), core_count_of(asked));
  }

 private:
  [[nodiscard]] const Problem& problem_of(const ConfiguredProblem& asked) const {
    return *std::ranges::find(options_.axes.problems, asked.problem, &problem_name);
  }
  /// An event that cannot be counted is an error of this command line, found before hours of timed runs.
  void require_countable() const {
    const auto& counters = options_.rounds.extras.counters;
    const auto setup = set_up_counters(wanted_events(counters, group_), counters, group_);
    if (!setup.refused.empty())
      throw RunError(ExitCode::unavailable, "--papi: " + refusal_text(setup.refused));
  }

  const SweepOptions& options_;
  comm::RankGroup& group_;
};

}  // namespace

ExitCode sweep_rounds(const SweepRounds& options, SweptRuns& runs, comm::RankGroup& group) {
  return SweepInRounds(options, runs, group).execute();
}

ExitCode sweep(const SweepOptions& options, comm::RankGroup& group) {
  BenchmarkRuns runs(options, group);
  return sweep_rounds(options.rounds, runs, group);
}

}  // namespace cg2d
