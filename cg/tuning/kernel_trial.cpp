#include "cg/tuning/kernel_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "cg/base/sample.hpp"
#include "cg/timing/race.hpp"
#include "cg/tuning/grid_solver.hpp"

namespace cg2d {
namespace {

ChosenKernel chosen_for(const Configuration& configuration, const KernelTrialConfig& config) {
  if (config.vector_count > 1)
    return choose_kernel_for_several(configuration, config.asked, config.vector_count);
  const LoadedProfile none;
  return choose_kernel(config.source.facts(), configuration, {.asked = config.asked, .profile = none});
}

/// One contestant for each kernel that is to be tried.
std::vector<TrialContestant> contestants_of(const KernelTrialConfig& config) {
  std::vector<TrialContestant> contestants;
  for (const auto& row : kernels::kernel_table()) {
    const bool is_tried = config.vector_count > 1 ? row.make_for_several != nullptr : row.is_tried;
    const bool may_serve = !row.stores_half() || !config.environment.ranks_oversubscribed;
    if (!is_tried || !may_serve || !row.why_unavailable().empty()) continue;
    auto configuration = config.configuration;
    configuration.kernel = row.name;
    contestants.push_back({.configuration = configuration, .kernel = chosen_for(configuration, config)});
  }
  return contestants;
}

/// The one that is taken unless another one is clearly faster.
const kernels::KernelRow& usual_kernel(const KernelTrialConfig& config) {
  return config.vector_count > 1 ? kernels::default_kernel_for_several() : kernels::kernel_for_any_pattern();
}

/// The reason against a trial; empty if there is to be one.
std::string why_none(const KernelTrialConfig& config, std::span<const TrialContestant> contestants) {
  // A step of a smaller system takes less than 0.1 ms, and noise would decide.
  constexpr double least_nonzeros_per_rank = 1e5;
  const double nonzeros = config.source.facts().nonzero_count / config.configuration.grid.rank_count();
  if (nonzeros < least_nonzeros_per_rank)
    return fmt::format("{:.0f} nonzeros per rank are too few to tell kernels apart", nonzeros);
  return why_no_trial(config.source, config.environment, contestants, "kernels");
}

/// The usual kernel, unless another one takes less than 0.95 of its time: so the choice, and with it the order of
/// additions, is the same in most runs.
std::string best_of(std::span<const TriedKernel> tried, const KernelTrialConfig& config) {
  const auto usual = std::ranges::find(tried, usual_kernel(config).name, &TriedKernel::name);
  const auto fastest = std::ranges::min_element(tried, {}, &TriedKernel::step_s);
  return fastest->step_s < 0.95 * usual->step_s ? fastest->name : usual->name;
}

}  // namespace

std::string describe_trial(const KernelTrial& trial) {
  if (!trial.skipped_because.empty()) return fmt::format("none: {}", trial.skipped_because);
  std::string text;
  for (const auto& one : trial.tried)
    text += fmt::format("{}{} {:.4g} us", text.empty() ? "" : ", ", one.name, 1e6 * one.step_s);
  return fmt::format("{} per CG step{}{}; the trial took {:.3g} s", text, trial.verdict.empty() ? "" : "; ",
                     trial.verdict, trial.duration_s);
}

KernelTrial try_kernels(comm::RankGroup& group, const KernelTrialConfig& config) {
  KernelTrial trial;
  trial.best = usual_kernel(config).name;
  const auto contestants = contestants_of(config);
  trial.skipped_because = why_none(config, contestants);
  if (!trial.skipped_because.empty()) return trial;

  const Stopwatch watch;
  std::vector<std::unique_ptr<GridSolver>> solvers;
  std::vector<std::string> names;
  for (const auto& [configuration, kernel] : contestants) {
    solvers.push_back(GridSolver::make(group, config.source, configuration, kernel));
    names.push_back(configuration.kernel);
  }
  constexpr RaceLimits limits{
      .fewest_rounds = 2, .most_rounds = 9, .budget_s = 0.3, .hopeless_factor = 1.3, .shortest_turn_s = 1e-3};
  const auto result = race(group, calls_of(solvers, &GridSolver::few_cg_steps), limits);
  const auto seconds = result.medians();
  for (std::size_t k = 0; k < names.size(); ++k)
    trial.tried.push_back({.name = names[k], .step_s = seconds[k] / GridSolver::few_steps});
  trial.best = best_of(trial.tried, config);
  trial.verdict = race_verdict(result.turns, names);
  trial.duration_s = group.maximum(watch.seconds());
  return trial;
}

}  // namespace cg2d
