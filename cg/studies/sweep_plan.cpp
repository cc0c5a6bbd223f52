#include "cg/studies/sweep_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/run/run_options.hpp"

namespace cg2d {
namespace {

template <typename Value>
bool has(const std::vector<Value>& values, const Value& one) {
  return std::ranges::find(values, one) != values.end();
}

void keep_named(std::vector<comm::ProcessGrid>& grids, int rank_count, const NamedGrids& named) {
  if (named.are_all()) return;
  std::erase_if(grids, [&](const auto& grid) {
    return !has(named.grids, grid) && !(named.has_official && official_grid(rank_count) == grid);
  });
  if (grids.empty()) {
    throw InputError(fmt::format("--grid: none of those named is for {}; valid grids (PXxPY): {}",
                                 format_count(rank_count, "rank"), valid_grids(rank_count)));
  }
}

void require_used(const NamedGrids& named, const std::vector<int>& rank_counts) {
  for (const auto& grid : named.grids) {
    if (!has(rank_counts, grid.rank_count()))
      throw InputError(fmt::format("--grid {}: is for {}, which --ranks does not name", grid.name(),
                                   format_count(grid.rank_count(), "rank")));
  }
}

std::vector<comm::ProcessGrid> wanted_grids(int rank_count, const SweepAxes& axes) {
  const auto& columns = axes.columns;
  auto grids = comm::factorizations(rank_count);
  keep_named(grids, rank_count, axes.named);
  std::erase_if(grids, [&](const auto& grid) { return !columns.empty() && !has(columns, grid.columns); });
  if (grids.empty()) {
    throw InputError(fmt::format("--px {}: none divides the {}; valid grids (PXxPY): {}",
                                 fmt::join(columns, ","), format_count(rank_count, "rank"),
                                 valid_grids(rank_count)));
  }
  return grids;
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

std::vector<Configuration> configurations_on_grids(const SweepAxes& axes, const Configuration& common) {
  const auto of_a_grid = crossed(common, axes.values);
  std::vector<Configuration> all;
  const auto add = [&](Configuration one, const comm::ProcessGrid& grid) {
    one.grid = grid;
    if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
  };
  require_used(axes.named, axes.rank_counts);
  for (const int rank_count : axes.rank_counts) {
    for (const auto& grid : wanted_grids(rank_count, axes)) {
      for (const auto& configuration : of_a_grid) add(configuration, grid);
    }
  }
  return all;
}

std::vector<ConfiguredProblem> configurations_of(const SweepAxes& axes, const Configuration& common) {
  const auto configurations = configurations_on_grids(axes, common);
  std::vector<ConfiguredProblem> all;
  for (const auto& problem : axes.problems) {
    for (const auto& configuration : configurations) {
      ConfiguredProblem one{.problem = problem_name(problem), .configuration = configuration};
      if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
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

std::vector<SweepStep> interleaved(const std::vector<ConfiguredProblem>& configurations, RoundRange rounds) {
  std::vector<SweepStep> steps;
  for (int round = rounds.first; round <= rounds.last; ++round) {
    const auto first = std::ssize(steps);
    for (const auto& asked : configurations) steps.push_back({.asked = asked, .round = round});
    if (round % 2 == 0) std::reverse(steps.begin() + first, steps.end());
  }
  return steps;
}

std::vector<SweepStep> extra_steps(const std::vector<ConfiguredProblem>& configurations,
                                   const ExtraRuns& extras) {
  std::vector<SweepStep> steps;
  const auto add = [&](RunPurpose purpose) {
    for (const auto& asked : configurations) steps.push_back({.asked = asked, .purpose = purpose});
  };
  if (extras.count_events()) add(RunPurpose::counters);
  if (extras.measures_limits) add(RunPurpose::limits);
  return steps;
}

std::optional<ConfiguredProblem> traced_configuration(const std::vector<ResultRecord>& records) {
  const ChoiceVerdict* chosen = nullptr;
  const auto verdicts = verdicts_of(records);
  for (const auto& choice : verdicts.choices) {
    if (choice.ranking.candidate() == nullptr) continue;
    const bool is_smaller = chosen != nullptr && chosen->problem == choice.problem &&
                            std::pair(choice.rank_count, choice.thread_count) <
                                std::pair(chosen->rank_count, chosen->thread_count);
    if (!is_smaller) chosen = &choice;
  }
  if (chosen == nullptr) return std::nullopt;
  return chosen->ranking.candidate()->asked;
}

std::string trace_file_of(const std::string& sweep_file) {
  return std::filesystem::path(sweep_file).replace_extension(".trace.json").string();
}

void repeat_step(std::vector<SweepStep>& steps, std::size_t index) {
  auto again = steps[index];
  ++again.attempt;
  const auto after = std::find_if(steps.begin() + static_cast<std::ptrdiff_t>(index), steps.end(),
                                  [&](const auto& step) { return step.round > again.round; });
  steps.insert(after, std::move(again));
}

bool is_official(const ConfiguredProblem& asked) {
  const auto& grid = asked.configuration.grid;
  return !asked.is_system() && official_grid(grid.rank_count()) == grid;
}

double expected_work(const Problem& problem, int core_count) {
  // The generation of a matrix takes about as long as so many products (classes A to C, 1 to 4 ranks).
  constexpr double products_of_generation = 60.0;
  const double products = problem.counts.products * (problem.niter + 1.0) + products_of_generation;
  return facts_of(problem).nonzero_count * products / core_count;
}

std::optional<double> RunDurations::expected(const std::vector<SweepStep>& steps) const {
  double seconds = 0.0;
  for (const auto& step : steps) {
    const auto one = times_.expected(work(step.asked));
    if (!one) return std::nullopt;
    seconds += *one;
  }
  return seconds;
}

std::vector<ConfiguredProblem> open_configurations(const std::vector<ResultRecord>& records,
                                                   double precision) {
  std::vector<ConfiguredProblem> open;
  const auto add = [&](const Ranking& ranking) {
    for (const auto index : open_alternatives(ranking.verdict, precision)) {
      const auto& asked = ranking.alternatives[index].asked;
      if (std::ranges::find(open, asked) == open.end()) open.push_back(asked);
    }
  };
  const auto verdicts = verdicts_of(records);
  for (const auto& row : verdicts.grids) add(row.ranking);
  for (const auto& choice : verdicts.choices) add(choice.ranking);
  return open;
}

RoundRange added_rounds(const std::vector<ResultRecord>& records,
                        const std::vector<ConfiguredProblem>& open) {
  int last = 0;
  for (const auto& record : records) {
    if (std::ranges::find(open, record.asked) != open.end()) last = std::max(last, record.round);
  }
  return {.first = last + 1, .last = rounds_after_next_block(last, open.size())};
}

}  // namespace cg2d
