#include "cg/studies/scaling_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/studies/scaling_plan.hpp"
#include "cg/studies/scaling_table.hpp"
#include "cg/studies/studied_work.hpp"
#include "cg/studies/study_rounds.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/communicator.hpp"

namespace cg2d {
namespace {

class Scaling final : public StudyRuns {
 public:
  Scaling(const ScalingOptions& options, comm::RankGroup& group)
      : options_(options), group_(group), first_ranks_(group), progress_(options.progress, group.rank()) {
    group_.waiter().set_mode(comm::WaitMode::sleep);
    study_.weak = options.weak;
    study_.values = options.values;
    study_.configuration = session().configuration;
    if (options.system) {
      study_.system = system_name(*options.system);
      study_.iteration_count = options.system->most_iterations;
    } else {
      study_.problem = options.problem;
    }
  }

  ExitCode execute() {
    plan();
    const auto output = open_output(options_.output, group_);
    StudyRounds rounds(*this, study_cases(), first_ranks_, group_, progress_);
    study_.is_interrupted = !rounds.perform(interleaved(all_numbers(study_.cases.size()),
                                                        {.first = 1, .last = study_.round_count})) ||
                            (options_.until_sure && !rounds.perform_until_sure(*options_.until_sure));
    write_output(output.get(), group_, [&] { return write_scaling(study_, options_.format); });
    return conclude();
  }

  void perform(const StudyStep& step, comm::RankGroup& ranks, const Progress& progress) override {
    run_ = work_->perform(study_.cases[step.number].asked, step.purpose, ranks, progress).run;
    // Every other run would fail in the same way.
    if (run_.code == ExitCode::usage || run_.code == ExitCode::unavailable)
      throw RunError(run_.code, run_.reason);
  }

  End keep(const StudyStep& step, double /*duration_s*/) override {
    auto text = run_.succeeded() ? fmt::format("{:.4g} s", run_.time_s)
                                 : fmt::format("{}: {}", status_name(run_.code), run_.reason);
    if (run_.is_disturbed()) text += fmt::format(", disturbed ({})", run_.disturbance);
    for (const auto& warning : run_.warnings) warn(warning);
    study_.runs.push_back({{std::move(run_)}, study_.cases[step.number], step.round});
    return {.text = std::move(text)};
  }

  [[nodiscard]] std::vector<std::size_t> open_cases(double precision) const override {
    std::vector<std::size_t> numbers;
    for (const auto& ranking : rankings_of(study_)) {
      for (const auto index : open_alternatives(ranking.verdict, precision))
        numbers.push_back(ranking.places[index]);
    }
    std::ranges::sort(numbers);
    return numbers;
  }

 private:
  [[nodiscard]] const SessionOptions& session() const {
    return options_.system ? static_cast<const SessionOptions&>(*options_.system) : options_.common;
  }

  void plan() {
    study_.core_counts = options_.core_counts;
    if (study_.core_counts.empty()) study_.core_counts = usual_core_counts(group_.size());
    study_.core_counts.push_back(1);  // speed-up and efficiency refer to it
    std::ranges::sort(study_.core_counts);
    study_.core_counts.erase(std::unique(study_.core_counts.begin(), study_.core_counts.end()),
                             study_.core_counts.end());
    require_started("--cores", study_.core_counts.back(), group_.size());
    if (!names("transport")) study_.values["transport"] = {"two-sided", "shared"};
    if (!names("cut")) study_.values["cut"] = {std::string(automatic_choice)};
    if (options_.system) {
      plan_system();
    } else {
      plan_benchmark();
    }
    study_.machine = inspect_environment(group_, 1);
    if (session().names_hosts) name_by_host(*study_.machine);
    if (group_.rank() == 0) study_.provenance = inspect_provenance(*study_.machine, session().names_hosts);
    leave_out_unavailable_transports();
    leave_out_cuts_for_other_ranks();
    leave_out_cases_without_room();
    study_.round_count = options_.round_count.value_or(rounds_for_verdicts(study_.cases));
    // A file that is no profile, or no matrix, is an error of this command line, not a result of each of its runs.
    static_cast<void>(load_profile(session().profile, *study_.machine, group_));
    agree_on(group_, [&] {
      for (const auto& one : study_.cases) {
        if (auto* const ranks = first_ranks_.of(one.rank_count)) work_->prepare(one.asked, *ranks, progress_);
      }
    });
  }

  void plan_benchmark() {
    std::vector<Problem> problems;
    for (const int core_count : study_.core_counts) {
      problems.push_back(scaled_problem(options_.problem, core_count, study_.weak));
      add_cases(core_count, study_.values,
                {.problem = problem_name(problems.back()), .configuration = study_.configuration});
    }
    work_ = benchmark_work(std::move(problems), options_.common);
  }

  /// Without a matrix first, where the operator can be applied so.
  void plan_system() {
    std::vector<SystemOptions> systems;
    auto without_matrix = study_.values;
    without_matrix.erase("cut");
    for (const int core_count : study_.core_counts) {
      auto system = *options_.system;
      auto& text = system.operator_text;
      const auto* const row = find_matrix_free(text);
      if (!text.empty()) text = scaled_operator(text, core_count, study_.weak);
      ConfiguredProblem asked{.problem = system_name(system), .configuration = system.configuration};
      if (row != nullptr) {
        asked.form = row->uses_grid ? factor_form : domain_form;
        asked.configuration.kernel = automatic_choice;  // which is the matrix's
        add_cases(core_count, without_matrix, asked, system.matrix_text());
      }
      if (text.empty() || system.assembles) {
        asked.form = matrix_form;
        asked.configuration = system.configuration;
        add_cases(core_count, study_.values, asked, system.matrix_text());
      }
      systems.push_back(std::move(system));
    }
    work_ = system_work(std::move(systems));
  }

  /// Whether the command line has values for this axis.
  [[nodiscard]] bool names(std::string_view axis) const {
    const auto values = options_.values.find(axis);
    return values != options_.values.end() && !values->second.empty();
  }

  void add_cases(int core_count, const AxisValues& values, const ConfiguredProblem& common,
                 const std::string& matrix = {}) {
    for (auto& one : cases_of({core_count}, values, common)) {
      one.matrix = matrix;
      study_.cases.push_back(std::move(one));
    }
  }

  [[nodiscard]] std::vector<StudyCase> study_cases() const {
    std::vector<StudyCase> cases;
    for (const auto& one : study_.cases) {
      cases.push_back({.name = one.label(),
                       .rank_count = one.rank_count,
                       .work = {.key = one.label(),
                                .kind = fmt::format("{} cores", one.core_count()),
                                .amount = work_->expected_work(one.asked, one.core_count())}});
    }
    return cases;
  }

  void warn(const std::string& text) {
    if (std::ranges::find(study_.warnings, text) == study_.warnings.end()) study_.warnings.push_back(text);
  }

  /// A transport that was named must be available; of the usual ones the available ones run.
  void leave_out_unavailable_transports() {
    std::erase_if(study_.cases, [&](const ScalingCase& one) {
      const auto reason = why_unavailable(one);
      if (reason.empty()) return false;
      const auto text = fmt::format("transport {} cannot serve {}: {}", one.transport(),
                                    format_count(one.rank_count, "rank"), reason);
      if (names("transport")) throw RunError(ExitCode::unavailable, "--transport: " + text);
      warn(text + "; its cases are left out");
      return true;
    });
  }

  /// Why the transport of a case is unavailable; the same text on every rank. Collective.
  std::string why_unavailable(const ScalingCase& one) {
    const auto* const transport = comm::find_transport(one.transport());
    if (transport == nullptr || one.rank_count == 1) return {};
    std::string reason;
    if (auto* const group = first_ranks_.of(one.rank_count)) reason = transport->why_unavailable(*group);
    return group_.broadcast(std::move(reason));
  }

  /// A file of shares is for one number of ranks. Throws InputError where no case has as many.
  void leave_out_cuts_for_other_ranks() {
    for (const auto& text : study_.values["cut"]) {
      const auto rank_count = rank_count_for(matrix_cut_from(text), group_);
      if (!rank_count) continue;
      const auto left_out = std::erase_if(study_.cases, [&](const ScalingCase& one) {
        return one.cut() == text && one.rank_count != *rank_count;
      });
      if (std::ranges::find(study_.cases, text, &ScalingCase::cut) == study_.cases.end())
        throw InputError(
            fmt::format("--cut {}: has a share for each of {}, and no case has as many; see --cores", text,
                        format_count(*rank_count, "rank")));
      if (left_out > 0)
        warn(fmt::format("cut {}: only with {}, since it has as many shares", text,
                         format_count(*rank_count, "rank")));
    }
  }

  /// Rank 0 takes part in every case, so it sees what the others see.
  void leave_out_cases_without_room() {
    std::vector<std::size_t> without;
    std::vector<std::string> bound;
    for (std::size_t place = 0; place < study_.cases.size(); ++place) {
      const auto& one = study_.cases[place];
      auto* const group = first_ranks_.of(one.rank_count);
      const auto seen = group != nullptr ? inspect_environment(*group, one.asked.configuration.thread_count)
                                         : Environment{};
      if (group_.rank() != 0) continue;
      const auto room = room_for(one, *study_.machine, seen);
      if (room == Room::bound || room == Room::no_node) without.push_back(place);
      if (room == Room::bound) bound.push_back(one.label());
      if (room == Room::no_node)
        warn(one.label() + ": left out, since no node has a core for each of its threads");
      if (room == Room::shared)
        warn(fmt::format("{}: there are fewer here; ranks and threads share them",
                         format_count(one.core_count(), "core")));
    }
    if (!bound.empty()) {
      warn(fmt::format(
          "left out, since the launcher binds their ranks to fewer cores than they have threads: {}; start "
          "the ranks unbound (mpiexec -bind-to none)",
          fmt::join(bound, "; ")));
    }
    without = group_.gather_all(std::span<const std::size_t>(without)).front();
    std::ranges::reverse(without);
    for (const auto place : without)
      study_.cases.erase(study_.cases.begin() + static_cast<std::ptrdiff_t>(place));
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
  SubgroupCache first_ranks_;
  Progress progress_;
  std::unique_ptr<StudiedWork> work_;
  StudiedRun run_;      // the one made last
  ScalingStudy study_;  // its runs and warnings on rank 0
};

}  // namespace

ExitCode compare_cases(const ScalingOptions& options, comm::RankGroup& group) {
  return Scaling(options, group).execute();
}

}  // namespace cg2d
