#include "cg/studies/sweep.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/describe_json.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/measurement_record.hpp"
#include "cg/report/report.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/timing/phase_counters.hpp"

namespace cg2d {

SweepFile::SweepFile(const std::string& path, bool fresh, const std::string& maker) {
  try {
    file_.emplace(path, "another sweep", fresh);
    records_ = parse_sweep(file_->text());
    for (const auto& record : records_) {
      if (record.maker.empty() || record.maker == maker) continue;
      throw InputError("its results come from another program or machine ({}; here: {})", record.maker,
                       maker);
    }
    was_cut_ = file_->drop_cut_line();  // the first change: the file is known to be a sweep's
  } catch (const InputError& error) {
    throw InputError("--output {}: {}; --fresh starts the file anew, or name another one", path,
                     error.what());
  }
  // Unique among the sweeps that one report may get.
  session_ = records_.empty() ? fmt::format("{}-{}", date_now(), getpid()) : records_.front().session;
  for (const auto& record : records_) sitting_ = std::max(sitting_, record.sitting + 1);
}

void SweepFile::append(const nlohmann::ordered_json& run) {
  auto added = record_from(run);
  file_->append(json_text(run));
  file_->sync();
  records_.push_back(std::move(added));
  mark_replaced(records_);
}

namespace {

class GridSweep final : public Study {
 public:
  GridSweep(const SweepOptions& options, comm::RankGroup& group) : Study(options, group), options_(options) {}

  ExitCode execute() {
    plan();
    open_file();
    const bool is_complete = perform_rounds(missing_of(steps_of_rounds(round_count_))) && make_extra_runs();
    return is_complete ? conclude()
                       : ended(ExitCode::interrupted,
                               fmt::format("interrupted by a signal; the same command goes on where {} ends",
                                           options_.output));
  }

 private:
  /// A run that fails is a result, too.
  bool keep(const StudyStep& step, ResultDocument& result, const ResultRecord& /*record*/) override {
    const auto complete = [&](auto& document) {
      auto& swept = *document.sweep;
      swept.round_count = std::max(round_count_, step.round);
      swept.session = file_->session();
      swept.sitting = file_->sitting();
      swept.trace_file = trace_file();
      return rendered([&] { return json_of(document); });
    };
    file_->append(std::visit(complete, result));
    return must_repeat(file_->records().back());
  }

  [[nodiscard]] std::vector<std::size_t> open_cases(double precision) const override {
    std::vector<std::size_t> numbers;
    for (const auto& open : open_configurations(records_of_plan(), precision))
      numbers.push_back(number_of(open));
    std::ranges::sort(numbers);
    return numbers;
  }

  void plan() {
    auto axes = options_.axes;
    const bool names_ranks = !axes.rank_counts.empty();
    if (!names_ranks) axes.rank_counts = usual_rank_counts(axes.named, group_.size());
    require_started(names_ranks ? "--ranks" : "--grid", *std::ranges::max_element(axes.rank_counts),
                    group_.size());
    auto system = options_.system;
    auto common = options_.common;
    SessionOptions& session = system ? static_cast<SessionOptions&>(*system) : common;
    if (axes.values["transport"].empty()) {
      session.configuration = with_default_transport(group_, session.configuration, axes.values);
      session.transport_origin = ChoiceOrigin::built_in_rule;
    }
    const auto configurations = system
                                    ? configurations_of(axes, forms_of(*system), system->operator_text)
                                    : configurations_of(axes, forms_of(axes.problems, common.configuration));
    for (const auto& asked : configurations)
      cases_.push_back({.work = {.key = asked.key(), .kind = asked.problem},
                        .rank_count = asked.configuration.grid.rank_count(),
                        .asked = asked});
    auto extras = options_.extras;
    extras.trace.path = trace_file();
    work_ = system ? system_work({*system}) : benchmark_work(axes.problems, common, std::move(extras));
    prepare(inspect_environment(group_, 1));
    require_countable();
    const int needed = rounds_for_verdicts(configurations);
    round_count_ = options_.round_count.value_or(needed);
    progress_.say(fmt::format("{}, {}; a verdict on them needs {}",
                              format_count(std::ssize(cases_), "configuration"),
                              format_count(round_count_, "round"), needed));
  }

  /// An event that cannot be counted is an error of this command line, found before hours of timed runs.
  void require_countable() const {
    const auto& counters = options_.extras.counters;
    if (options_.system) return;
    const auto setup = set_up_counters(wanted_events(counters, group_), counters, group_);
    if (!setup.refused.empty())
      throw RunError(ExitCode::unavailable, "--papi: " + refusal_text(setup.refused));
  }

  void open_file() {
    const auto environment = inspect_environment(group_, 1);
    agree_on(group_, [&] {
      if (group_.rank() != 0) return;
      const auto maker = rendered([&] { return maker_of(environment); });
      file_ = std::make_unique<SweepFile>(options_.output, options_.fresh, maker);
    });
    if (group_.rank() != 0) return;
    for (const auto& record : file_->records()) {
      if (record.purpose == RunPurpose::time && is_planned(record))
        note({.number = number_of(record.asked), .round = record.round}, record.duration_s);
    }
    if (file_->was_cut()) progress_.say(fmt::format("{}: dropped a line that was cut off", options_.output));
  }

  /// Returns those steps of rank 0 that the file lacks, each with the number of its next attempt.
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
             record.asked == cases_[step.number].asked && !record.is_replaced;
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
    return static_cast<std::size_t>(std::ranges::find(cases_, asked, &StudyCase::asked) - cases_.begin());
  }

  /// The file may have problems and configurations of which this sweep knows nothing.
  [[nodiscard]] bool is_planned(const ResultRecord& record) const {
    return number_of(record.asked) < cases_.size();
  }

  /// After all timed runs, whose medians they must not disturb. False where a signal asked to end.
  bool make_extra_runs() {
    if (!perform(missing_of(extra_steps(cases_.size(), options_.extras)))) return false;
    if (!options_.extras.traces_best) return true;
    std::vector<StudyStep> steps;
    if (group_.rank() == 0) {
      if (const auto traced = traced_configuration(records_of_plan()))
        steps.push_back({.number = number_of(*traced), .purpose = RunPurpose::trace});
    }
    return perform(missing_of(steps));
  }

  [[nodiscard]] std::vector<ResultRecord> records_of_plan() const {
    std::vector<ResultRecord> records;
    std::ranges::copy_if(file_->records(), std::back_inserter(records),
                         [&](const auto& record) { return is_planned(record); });
    return records;
  }

  ExitCode conclude() {
    write_output("", group_, [&] { return sweep_tables(file_->records(), options_.tables); });
    auto code = ExitCode::success;
    if (group_.rank() == 0) {
      for (const auto& record : file_->records()) {
        if (code == ExitCode::success) code = static_cast<ExitCode>(record.exit_code);
      }
    }
    return ended(code, "some runs failed; the tables say which");
  }

  const SweepOptions& options_;
  int round_count_ = 0;
  std::unique_ptr<SweepFile> file_;  // on rank 0
};

}  // namespace

ExitCode sweep(const SweepOptions& options, comm::RankGroup& group) {
  return GridSweep(options, group).execute();
}

}  // namespace cg2d
