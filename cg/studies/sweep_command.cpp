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

namespace {

class GridSweep final : public Study {
 public:
  GridSweep(const SweepOptions& options, comm::RankGroup& group) : Study(options, group), options_(options) {}

  ExitCode execute() {
    plan();
    const bool is_complete = perform_rounds() && make_extra_runs();
    return is_complete ? conclude()
                       : ended(ExitCode::interrupted,
                               fmt::format("interrupted by a signal; the same command goes on where {} ends",
                                           options_.file));
  }

 private:
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
    extras.trace.path = trace_file_of(options_.file);
    work_ = system ? system_work({*system}) : benchmark_work(axes.problems, common, std::move(extras));
    const auto environment = inspect_environment(group_, 1);
    prepare(environment);
    require_countable();
    const int needed = rounds_for_verdicts(configurations);
    round_count_ = options_.round_count.value_or(needed);
    progress_.say(fmt::format("{}, {}; a verdict on them needs {}",
                              format_count(std::ssize(cases_), "configuration"),
                              format_count(round_count_, "round"), needed));
    open_file(environment);
  }

  /// An event that cannot be counted is an error of this command line, found before hours of timed runs.
  void require_countable() const {
    const auto& counters = options_.extras.counters;
    if (options_.system) return;
    const auto setup = set_up_counters(wanted_events(counters, group_), counters, group_);
    if (!setup.refused.empty())
      throw RunError(ExitCode::unavailable, "--papi: " + refusal_text(setup.refused));
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
};

}  // namespace

ExitCode sweep(const SweepOptions& options, comm::RankGroup& group) {
  return GridSweep(options, group).execute();
}

}  // namespace cg2d
