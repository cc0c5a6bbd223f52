#include "cg/studies/sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/stencil.hpp"
#include "cg/run/session_options.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/timing/phase_counters.hpp"

namespace cg2d {
namespace {

template <typename Value>
bool has(const std::vector<Value>& values, const Value& one) {
  return std::ranges::find(values, one) != values.end();
}

void require_used(const NamedGrids& named, const std::vector<int>& rank_counts) {
  for (const auto& grid : named.grids) {
    if (!has(rank_counts, grid.rank_count()))
      throw InputError("--grid {}: is for {}, which --ranks does not name", grid.name(),
                       format_count(grid.rank_count(), "rank"));
  }
}

std::vector<comm::ProcessGrid> wanted_grids(int rank_count, const SweepAxes& axes) {
  const auto& columns = axes.columns;
  const auto& named = axes.named;
  auto grids = comm::factorizations(rank_count);
  std::erase_if(grids, [&](const auto& grid) {
    return !named.are_all() && !has(named.grids, grid) &&
           !(named.has_official && official_grid(rank_count) == grid);
  });
  if (grids.empty())
    throw InputError("--grid: none of those named is for {}; valid grids (PXxPY): {}",
                     format_count(rank_count, "rank"), valid_grids(rank_count));
  std::erase_if(grids, [&](const auto& grid) { return !columns.empty() && !has(columns, grid.columns); });
  if (grids.empty())
    throw InputError("--px {}: none divides the {}; valid grids (PXxPY): {}", fmt::join(columns, ","),
                     format_count(rank_count, "rank"), valid_grids(rank_count));
  return grids;
}

std::vector<comm::DomainGrid> wanted_domains(const SweepAxes& axes, const std::string& operator_text,
                                             int rank_count) {
  const auto extents = stencil_from(operator_text).extents;
  auto domains = comm::domain_grids(rank_count);
  std::erase_if(domains, [&](const comm::DomainGrid& grid) {
    for (std::size_t dimension = 0; dimension < comm::dimension_count; ++dimension) {
      if (grid.parts[dimension] > extents[dimension]) return true;
    }
    return !axes.domains.empty() && !has(axes.domains, grid);
  });
  if (domains.empty())
    throw InputError("--domain: no cut of {} into {} {}", operator_text, format_count(rank_count, "part"),
                     axes.domains.empty() ? "has points for each" : "is among these");
  return domains;
}

}  // namespace

std::vector<comm::ProcessGrid> grids_for(const NamedGrids& named, int rank_count) {
  if (named.are_all()) return comm::factorizations(rank_count);
  auto grids = named.grids;
  std::erase_if(grids, [&](const auto& grid) { return grid.rank_count() != rank_count; });
  if (!named.has_official) return grids;
  const auto official = *grid_named_by({.columns = {}, .is_official = true}, rank_count);
  if (!has(grids, official)) grids.push_back(official);
  return grids;
}

std::vector<int> usual_rank_counts(const NamedGrids& named, int started) {
  std::vector<int> counts;
  for (const auto& grid : named.grids) {
    if (!has(counts, grid.rank_count())) counts.push_back(grid.rank_count());
  }
  if ((named.are_all() || named.has_official) && !has(counts, started)) counts.push_back(started);
  std::ranges::sort(counts);
  return counts;
}

std::vector<ConfiguredProblem> forms_of(const std::vector<Problem>& problems, const Configuration& common) {
  std::vector<ConfiguredProblem> forms;
  forms.reserve(problems.size());
  for (const auto& problem : problems)
    forms.push_back({.problem = problem_name(problem), .configuration = common});
  return forms;
}

std::vector<ConfiguredProblem> forms_of(const SystemOptions& system) {
  std::vector<ConfiguredProblem> forms;
  const auto add = [&](std::string_view form) {
    forms.push_back(
        {.problem = system_name(system), .configuration = system.configuration, .form = std::string(form)});
  };
  const auto& text = system.operator_text;
  if (const auto* const row = find_matrix_free(text)) add(row->uses_grid ? factor_form : domain_form);
  if (text.empty() || system.assembles) add(matrix_form);
  return forms;
}

std::vector<ConfiguredProblem> configurations_of(const SweepAxes& axes,
                                                 const std::vector<ConfiguredProblem>& forms,
                                                 const std::string& operator_text) {
  std::vector<ConfiguredProblem> all;
  for (auto form : forms) {
    const bool cuts_domain = form.cuts_domain();
    auto values = axes.values;
    if (cuts_domain) {  // stencils have neither a kernel nor a form of the sum
      values.erase("kernel");
      values.erase("sum_form");
    }
    const auto crossing = crossed(form.configuration, values);
    const auto add_on = [&](const comm::ProcessGrid& grid) {
      for (const auto& configuration : crossing) {
        auto one = form;
        one.configuration = configuration;
        one.configuration.grid = grid;
        if (one.is_matrix_free()) one.configuration.cut = automatic_choice;
        one.configuration = with_cut(one.configuration, one.usual_cut());
        if (!has(all, one)) all.push_back(std::move(one));
      }
    };
    if (!cuts_domain) require_used(axes.named, axes.rank_counts);
    for (const int rank_count : axes.rank_counts) {
      if (!cuts_domain) {
        std::ranges::for_each(wanted_grids(rank_count, axes), add_on);
        continue;
      }
      for (const auto& domain : wanted_domains(axes, operator_text, rank_count)) {
        form.form = fmt::format("{} {}", domain_form, domain.name());
        add_on({.columns = 1, .rows = rank_count});
      }
    }
  }
  return all;
}

int rounds_for_verdicts(const std::vector<ConfiguredProblem>& configurations) {
  std::map<std::tuple<std::string, int, int>, std::size_t> alternative_counts;
  for (const auto& one : configurations) {
    const auto& configuration = one.configuration;
    ++alternative_counts[{one.problem, configuration.grid.rank_count(), configuration.thread_count}];
  }
  int rounds = rounds_for_verdict(1);
  for (const auto& [question, count] : alternative_counts)
    rounds = std::max(rounds, rounds_for_verdict(count));
  return rounds;
}

std::vector<StudyStep> extra_steps(std::size_t configuration_count, const ExtraRuns& extras) {
  std::vector<StudyStep> steps;
  const auto add = [&](RunPurpose purpose) {
    for (std::size_t number = 0; number < configuration_count; ++number)
      steps.push_back({.number = number, .purpose = purpose});
  };
  if (extras.count_events()) add(RunPurpose::counters);
  if (extras.measures_limits) add(RunPurpose::limits);
  return steps;
}

std::optional<ConfiguredProblem> traced_configuration(const std::vector<ResultRecord>& records) {
  const auto size_of = [](const ChoiceVerdict& one) { return std::pair(one.rank_count, one.thread_count); };
  const auto verdicts = verdicts_of(records);
  const ChoiceVerdict* chosen = nullptr;
  for (const auto& choice : verdicts.choices) {
    if (choice.ranking.candidate() == nullptr) continue;
    if (chosen == nullptr || chosen->problem != choice.problem || size_of(choice) >= size_of(*chosen))
      chosen = &choice;
  }
  return chosen == nullptr ? std::nullopt : std::optional(chosen->ranking.candidate()->asked);
}

std::vector<ConfiguredProblem> open_configurations(const std::vector<ResultRecord>& records,
                                                   double precision) {
  std::vector<ConfiguredProblem> open;
  const auto add = [&](const Ranking& ranking) {
    for (const auto index : open_alternatives(ranking.verdict, precision)) {
      const auto& asked = ranking.alternatives[index].asked;
      if (!has(open, asked)) open.push_back(asked);
    }
  };
  const auto verdicts = verdicts_of(records);
  for (const auto& row : verdicts.grids) add(row.ranking);
  for (const auto& choice : verdicts.choices) add(choice.ranking);
  return open;
}

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
      numbers.push_back(number_of({.asked = open}));
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
    if (!perform(extra_steps(cases_.size(), options_.extras))) return false;
    if (!options_.extras.traces_best) return true;
    std::vector<StudyStep> steps;
    if (group_.rank() == 0) {
      if (const auto traced = traced_configuration(records_of_plan()))
        steps.push_back({.number = number_of({.asked = *traced}), .purpose = RunPurpose::trace});
    }
    return perform(steps);
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
