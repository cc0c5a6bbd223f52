#include "cg/studies/sweep_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/report/report.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/studies/studied_work.hpp"
#include "cg/studies/study_rounds.hpp"
#include "cg/studies/sweep_file.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/tuning/kernel_choice.hpp"

namespace cg2d {
namespace {

bool contains(const std::vector<ConfiguredProblem>& all, const ConfiguredProblem& one) {
  return std::ranges::find(all, one) != all.end();
}

class GridSweep final : public StudyRuns {
 public:
  GridSweep(const SweepOptions& options, comm::RankGroup& group)
      : options_(options), group_(group), first_ranks_(group), progress_(options.progress, group.rank()) {
    group_.waiter().set_mode(comm::WaitMode::sleep);
  }

  ExitCode execute() {
    plan();
    StudyRounds rounds(*this, cases(), first_ranks_, group_, progress_);
    open_file(rounds);
    const bool is_complete = rounds.perform(missing_of(interleaved(all_numbers(configurations_.size()),
                                                                   {.first = 1, .last = round_count_}))) &&
                             (!options_.until_sure || rounds.perform_until_sure(*options_.until_sure)) &&
                             make_extra_runs(rounds);
    return is_complete ? conclude() : interrupted();
  }

  void perform(const StudyStep& step, comm::RankGroup& ranks, const Progress& progress) override {
    result_ = work_->perform(configurations_[step.number], step.purpose, ranks, progress);
  }

  /// A run that fails is a result, too.
  End keep(const StudyStep& step, double duration_s) override {
    file_->append(rendered([&] {
      return sweep_json(result_.json(), {.asked = configurations_[step.number],
                                         .round = step.round,
                                         .round_count = round_count_,
                                         .attempt = step.attempt,
                                         .duration_s = duration_s,
                                         .session = file_->session(),
                                         .sitting = file_->sitting(),
                                         .purpose = step.purpose,
                                         .trace_file = trace_file()});
    }));
    const auto& record = file_->records().back();
    auto text = record.succeeded() ? fmt::format("{:.4g} s", record.times_s.front())
                                   : record.status + ": " + record.reason;
    if (record.is_disturbed()) text += fmt::format(", disturbed ({})", record.disturbance);
    return {.text = std::move(text), .is_repeated = must_repeat(record)};
  }

  [[nodiscard]] std::vector<std::size_t> open_cases(double precision) const override {
    std::vector<std::size_t> numbers;
    for (const auto& open : open_configurations(records_of_plan(), precision))
      numbers.push_back(number_of(open));
    std::ranges::sort(numbers);
    return numbers;
  }

 private:
  void plan() {
    auto axes = options_.axes;
    const bool names_ranks = !axes.rank_counts.empty();
    if (!names_ranks) axes.rank_counts = usual_rank_counts(axes.named, group_.size());
    require_started(names_ranks ? "--ranks" : "--grid", *std::ranges::max_element(axes.rank_counts),
                    group_.size());
    auto system = options_.system;
    auto common = options_.common;
    if (axes.values["transport"].empty()) {
      SessionOptions& session = system ? static_cast<SessionOptions&>(*system) : common;
      session.configuration = with_default_transport(group_, session.configuration, axes.values);
      session.transport_origin = ChoiceOrigin::built_in_rule;
    }
    configurations_ =
        system ? system_configurations(axes, *system) : configurations_of(axes, common.configuration);
    // A file that is no profile, or no matrix, is an error of this command line, not a result of each of its runs.
    const auto& profile = options_.system ? options_.system->profile : options_.common.profile;
    static_cast<void>(load_profile(profile, inspect_environment(group_, 1), group_));
    require_countable();
    work_ = system ? system_work({*system})
                   : benchmark_work(axes.problems, common, options_.extras, trace_file());
    agree_on(group_, [&] {
      for (const auto& asked : configurations_) {
        if (auto* const ranks = first_ranks_.of(asked.configuration.grid.rank_count()))
          work_->prepare(asked, *ranks, progress_);
      }
    });
    const int needed = rounds_for_verdicts(configurations_);
    round_count_ = options_.round_count.value_or(needed);
    progress_.say(fmt::format("{}, {}, {}", format_count(std::ssize(configurations_), "configuration"),
                              format_count(round_count_, "round"), reason_for_rounds(needed)));
  }

  /// An event that cannot be counted is an error of this command line, found before hours of timed runs.
  void require_countable() const {
    const auto& counters = options_.extras.counters;
    if (options_.system) return;
    const auto setup = set_up_counters(wanted_events(counters, group_), counters, group_);
    if (!setup.refused.empty())
      throw RunError(ExitCode::unavailable, "--papi: " + refusal_text(setup.refused));
  }

  [[nodiscard]] std::string reason_for_rounds(int needed) const {
    if (!options_.round_count) return "as many as a verdict on them needs (--repeat takes another number)";
    if (round_count_ < needed) return fmt::format("too few for a verdict on them, which needs {}", needed);
    return "as --repeat asks";
  }

  [[nodiscard]] std::vector<StudyCase> cases() const {
    std::vector<StudyCase> cases;
    for (const auto& asked : configurations_) {
      const int rank_count = asked.configuration.grid.rank_count();
      cases.push_back(
          {.name = asked.key(),
           .rank_count = rank_count,
           .work = {.key = asked.key(),
                    .kind = asked.problem,
                    .amount = work_->expected_work(asked, rank_count * asked.configuration.thread_count)}});
    }
    return cases;
  }

  void open_file(StudyRounds& rounds) {
    const auto environment = inspect_environment(group_, 1);
    agree_on(group_, [&] {
      if (group_.rank() != 0) return;
      const auto maker = rendered([&] { return maker_of(environment); });
      file_ = std::make_unique<SweepFile>(options_.output, options_.fresh, maker);
    });
    if (group_.rank() != 0) return;
    for (const auto& record : file_->records()) {
      // The file may have problems of which this sweep knows nothing.
      if (record.purpose == RunPurpose::time && contains(configurations_, record.asked))
        rounds.note({.number = number_of(record.asked), .round = record.round}, record.duration_s);
    }
    if (file_->was_cut()) progress_.say(fmt::format("{}: dropped a line that was cut off", options_.output));
  }

  /// Returns the steps that the file lacks, each with the number of its next attempt.
  [[nodiscard]] std::vector<StudyStep> missing_of(const std::vector<StudyStep>& steps) const {
    std::vector<StudyStep> missing;
    if (group_.rank() == 0) {
      for (auto step : steps) {
        step.attempt = next_attempt(step);
        if (step.attempt > 0) missing.push_back(step);
      }
      const auto present = steps.size() - missing.size();
      if (present > 0)
        progress_.say(
            fmt::format("{}: {} of {} runs are there already", options_.output, present, steps.size()));
    }
    return of_rank_0(group_, missing);
  }

  /// 0: the file has the run.
  [[nodiscard]] int next_attempt(const StudyStep& step) const {
    const auto last = std::ranges::find_if(file_->records(), [&](const ResultRecord& record) {
      return record.round == step.round && record.purpose == step.purpose &&
             record.asked == configurations_[step.number] && !record.is_replaced;
    });
    if (last == file_->records().end()) return 1;
    const bool lacks_its_trace =
        step.purpose == RunPurpose::trace && last->succeeded() && !std::filesystem::exists(trace_file());
    return must_repeat(*last) || lacks_its_trace ? last->attempt + 1 : 0;
  }

  /// A failed run is never replaced.
  [[nodiscard]] bool must_repeat(const ResultRecord& record) const {
    return record.succeeded() && record.is_disturbed() && record.attempt <= options_.most_retries;
  }

  [[nodiscard]] std::string trace_file() const { return trace_file_of(options_.output); }

  [[nodiscard]] std::size_t number_of(const ConfiguredProblem& asked) const {
    return static_cast<std::size_t>(std::ranges::find(configurations_, asked) - configurations_.begin());
  }

  /// After all timed runs, whose medians they must not disturb. False where a signal asked to end.
  bool make_extra_runs(StudyRounds& rounds) {
    if (!rounds.perform(missing_of(extra_steps(configurations_.size(), options_.extras)))) return false;
    if (!options_.extras.traces_best) return true;
    std::vector<StudyStep> steps;
    if (group_.rank() == 0) {
      if (const auto traced = traced_configuration(records_of_plan()))
        steps.push_back({.number = number_of(*traced), .purpose = RunPurpose::trace});
    }
    return rounds.perform(missing_of(of_rank_0(group_, steps)));
  }

  /// The file may have other configurations, too.
  [[nodiscard]] std::vector<ResultRecord> records_of_plan() const {
    std::vector<ResultRecord> records;
    std::ranges::copy_if(file_->records(), std::back_inserter(records),
                         [&](const auto& record) { return contains(configurations_, record.asked); });
    return records;
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
    write_output("", group_, [&] { return sweep_tables(file_->records(), options_.tables); });
    if (group_.rank() == 0) {
      for (const auto& record : file_->records()) {
        if (code == 0) code = record.exit_code;
      }
      if (code != 0) say_on_stderr("some runs failed; the tables say which");
    }
    return static_cast<ExitCode>(group_.maximum(code));
  }

  const SweepOptions& options_;
  comm::RankGroup& group_;
  SubgroupCache first_ranks_;
  Progress progress_;
  std::unique_ptr<StudiedWork> work_;
  std::vector<ConfiguredProblem> configurations_;
  int round_count_ = 0;
  std::unique_ptr<SweepFile> file_;  // on rank 0
  StudiedResult result_;             // of the run made last
};

}  // namespace

ExitCode sweep(const SweepOptions& options, comm::RankGroup& group) {
  return GridSweep(options, group).execute();
}

}  // namespace cg2d
