#include "cg/tuning/grid_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/tuning/grid_solver.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

constexpr std::size_t most_grids = 4;
/// A calibrated machine's predictions are meant to be within 15 % of measured times.
constexpr double hopeless_factor = 1.25;

/// The best grids by the model; none where the machine or a kernel is not described.
std::vector<comm::ProcessGrid> shortlist_by_model(const ShortlistConfig& config, int rank_count) {
  if (!config.machine) return {};
  std::vector<std::pair<double, comm::ProcessGrid>> by_time;
  for (const auto& grid : comm::factorizations(rank_count)) {
    auto configuration = config.configuration;
    configuration.grid = grid;
    configuration.kernel = config.kernel_for(grid).name;
    if (!config.machine->has_kernel(configuration.kernel)) return {};
    const auto prediction = predict(*config.machine, config.matrix, configuration, 1);
    by_time.emplace_back(prediction.total_s(), grid);
  }
  std::ranges::stable_sort(by_time, {}, &std::pair<double, comm::ProcessGrid>::first);
  std::vector<comm::ProcessGrid> grids;
  for (const auto& [seconds, grid] : by_time) {
    if (grids.size() < most_grids && seconds <= hopeless_factor * by_time.front().first)
      grids.push_back(grid);
  }
  return grids;
}

// Larger blocks take seconds to generate, and seconds for each outer iteration.
constexpr double most_nonzeros_per_rank = 20e6;

/// Each grid of the shortlist with its kernel.
std::vector<TrialContestant> contestants_of(const GridTrialConfig& config,
                                            std::span<const comm::ProcessGrid> grids) {
  std::vector<TrialContestant> contestants;
  contestants.reserve(grids.size());
  for (const auto& grid : grids) {
    const auto chosen = config.kernel_for(grid);
    auto configuration = config.configuration;
    configuration.grid = grid;
    configuration.kernel = chosen.kernel->name;
    contestants.push_back({.configuration = configuration, .kernel = chosen});
  }
  return contestants;
}

/// Approximate bytes that a rank needs for the trial: all its blocks at once.
std::int64_t bytes_of_rank(const MatrixSource& source, std::span<const TrialContestant> contestants,
                           int rank) {
  std::int64_t bytes = 0;
  for (const auto& [configuration, kernel] : contestants) {
    const auto layout = make_layout(source.facts(), configuration);
    const auto plan = plan_memory(source, configuration, layout, rank);
    bytes += plan.total_bytes() + (kernel.vector_count - 1) * plan.vector_bytes;
  }
  return bytes;
}

}  // namespace

std::string why_no_trial(const MatrixSource& source, const Environment& environment,
                         std::span<const TrialContestant> contestants, std::string_view things) {
  if (contestants.size() == 1) {
    auto one = std::string(things);
    one.pop_back();
    return fmt::format("there is only one {} to try", one);
  }
  const auto rank_count = static_cast<double>(environment.ranks.size());
  if (const double nonzeros = source.facts().nonzero_count / rank_count; nonzeros > most_nonzeros_per_rank) {
    return fmt::format("{:.3g} million nonzeros per rank would take too long", nonzeros / 1e6);
  }
  for (const auto& node : environment.nodes) {
    const auto bytes = bytes_of_rank(source, contestants, 0) * node.rank_count;
    // Half of it stays free: the estimate is for one block, with nothing else in the process.
    if (bytes > node.memory.available_bytes / 2) {
      return fmt::format("the blocks of {} {} would take {} on {}", contestants.size(), things,
                         format_bytes(bytes), node.name);
    }
  }
  return {};
}

GridShortlist make_grid_shortlist(comm::RankGroup& group, const ShortlistConfig& config) {
  std::vector<comm::ProcessGrid> by_model;
  if (group.rank() == 0) by_model = shortlist_by_model(config, group.size());
  // Only rank 0 has the description.
  by_model = group.gather_all(std::span<const comm::ProcessGrid>(by_model)).front();
  if (!by_model.empty()) return {.grids = by_model, .made_by = "model"};
  return {.grids = shortlist_by_rule(config.matrix, config.configuration, group.size(), most_grids),
          .made_by = "rule"};
}

std::string describe_trial(const GridTrial& trial) {
  if (!trial.skipped_because.empty())
    return fmt::format("none: {}; the {} chose", trial.skipped_because, trial.shortlist_by);
  std::string text;
  for (const auto& one : trial.tried) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {:.4g} us", one.grid.name(), 1e6 * one.step_s);
  }
  return fmt::format("{} per CG step{}{}; shortlist by the {}, the trial took {:.3g} s", text,
                     trial.verdict.reason.empty() ? "" : "; ", trial.verdict.text(), trial.shortlist_by,
                     trial.duration_s);
}

GridTrial try_grids(comm::RankGroup& group, const GridTrialConfig& config, const GridShortlist& shortlist) {
  const auto& grids = shortlist.grids;
  GridTrial trial;
  trial.best = grids.front();
  trial.shortlist_by = shortlist.made_by;
  const auto shortlisted = contestants_of(config, grids);
  trial.skipped_because = why_no_trial(config.source, config.environment, shortlisted, "grids");
  if (!trial.skipped_because.empty()) return trial;

  const Stopwatch watch;
  std::vector<std::unique_ptr<GridSolver>> contestants;
  contestants.reserve(shortlisted.size());
  for (const auto& [configuration, kernel] : shortlisted)
    contestants.push_back(GridSolver::make(group, config.source, configuration, kernel));
  constexpr RaceLimits limits{
      .fewest_rounds = 1, .most_rounds = 9, .budget_s = 0.5, .hopeless_factor = 1.3, .shortest_turn_s = 1e-3};
  const auto result = race(group, calls_of(contestants, &GridSolver::iterate), limits);
  const auto seconds = result.medians();
  std::vector<std::string> names;
  names.reserve(grids.size());
  for (std::size_t k = 0; k < grids.size(); ++k) {
    names.push_back(grids[k].name());
    trial.tried.push_back({.grid = grids[k], .step_s = seconds[k] / cg_steps_per_solve});
  }
  trial.verdict = race_verdict(result.turns, names);
  trial.best =
      grids[static_cast<std::size_t>(std::ranges::find(names, trial.verdict.candidate) - names.begin())];
  trial.duration_s = group.maximum(watch.seconds());
  return trial;
}

}  // namespace cg2d
