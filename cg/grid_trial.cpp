#include "cg/grid_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "cg/agreement.hpp"
#include "cg/block_operator.hpp"
#include "cg/phase_timer.hpp"
#include "cg/solver.hpp"
#include "cg/text_format.hpp"
#include "cg/tune_measure.hpp"

namespace cg2d {
namespace {

// Larger blocks take seconds to generate, and seconds for each outer iteration.
constexpr double most_nonzeros_per_rank = 20e6;

/// One grid with everything that an outer iteration on it needs.
class GridContestant {
 public:
  GridContestant(std::unique_ptr<BlockProduct> product, std::unique_ptr<comm::Communicator> communicator,
                 const RunChoices& choices)
      : product_(std::move(product)),
        communicator_(std::move(communicator)),
        timer_(false, *communicator_),
        operator_(*communicator_, *product_, timer_, choices.thread_count),
        solver_(operator_, *communicator_, timer_, choices.thread_count),
        shift_(choices.problem.shift) {}

  void iterate() {
    solver_.reset();
    static_cast<void>(solver_.outer_step(shift_, false));
  }

 private:
  std::unique_ptr<BlockProduct> product_;
  std::unique_ptr<comm::Communicator> communicator_;
  PhaseTimer timer_;
  BlockOperator operator_;
  Solver solver_;
  double shift_;
};

std::unique_ptr<GridContestant> make_contestant(comm::RankGroup& group, const GridTrialSetting& setting,
                                                const comm::ProcessGrid& grid) {
  const auto& choices = setting.choices;
  const auto layout = comm::BlockLayout::even(choices.problem.n, grid);
  const auto kernel = setting.kernel_for(grid);
  auto sourced = setting.source.build(choices.problem, layout, group, choices.thread_count);
  std::unique_ptr<BlockProduct> product;
  agree_on(group, [&] {
    product = make_block_product(kernel.kernel, std::move(sourced.block), layout, group.rank(),
                                 {.thread_count = choices.thread_count, .tuning = kernel.tuning});
  });
  auto communicator = setting.transport.make(
      group, layout, {.sum_form = choices.sum_form, .mirrored = product->is_symmetric()});
  return std::make_unique<GridContestant>(std::move(product), std::move(communicator), choices);
}

/// Bytes that a rank needs for the trial, about: its blocks on all grids at once.
std::int64_t bytes_of_rank(const GridTrialSetting& setting, std::span<const comm::ProcessGrid> grids,
                           int rank) {
  std::int64_t bytes = 0;
  for (const auto& grid : grids) {
    auto choices = setting.choices;
    choices.kernel = setting.kernel_for(grid).kernel;
    bytes += plan_memory(choices, comm::BlockLayout::even(choices.problem.n, grid), rank, setting.source)
                 .total_bytes();
  }
  return bytes;
}

/// Why there is to be no trial, the same on every rank; empty if there is to be one.
std::string why_skipped(const GridTrialSetting& setting, std::span<const comm::ProcessGrid> grids) {
  if (grids.size() == 1) return "there is only one grid to try";
  const auto& environment = setting.environment;
  const auto rank_count = static_cast<double>(environment.ranks.size());
  if (const double nonzeros = expected_nonzero_count(setting.choices.problem) / rank_count;
      nonzeros > most_nonzeros_per_rank) {
    return fmt::format("{:.3g} million nonzeros per rank would take too long", nonzeros / 1e6);
  }
  for (const auto& node : environment.nodes) {
    const auto bytes = bytes_of_rank(setting, grids, 0) * node.rank_count;
    // Half of it stays free: the estimate is for one grid, with nothing else in the process.
    if (bytes > node.available_bytes / 2)
      return fmt::format("the blocks of {} grids would take {} on {}", grids.size(), format_bytes(bytes),
                         node.host);
  }
  return {};
}

}  // namespace

std::string describe_trial(const GridTrial& trial) {
  if (!trial.skipped_because.empty())
    return fmt::format("none: {}; the {} chose", trial.skipped_because, trial.shortlist_by);
  std::string text;
  for (const auto& one : trial.tried) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {:.4g} us", one.grid.name(), 1e6 * one.step_s);
  }
  return fmt::format("{} per CG step; shortlist by the {}, the trial took {:.3g} s", text, trial.shortlist_by,
                     trial.duration_s);
}

GridTrial try_grids(comm::RankGroup& group, const GridTrialSetting& setting, const GridShortlist& shortlist) {
  const auto& grids = shortlist.grids;
  GridTrial trial;
  trial.best = grids.front();
  trial.shortlist_by = shortlist.made_by;
  trial.skipped_because = why_skipped(setting, grids);
  if (!trial.skipped_because.empty()) return trial;

  const auto start = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<GridContestant>> contestants;
  std::vector<std::function<void()>> works;
  for (const auto& grid : grids) {
    auto* const contestant = contestants.emplace_back(make_contestant(group, setting, grid)).get();
    works.emplace_back([contestant] { contestant->iterate(); });
  }
  constexpr RaceLimits limits{
      .fewest_rounds = 1, .most_rounds = 5, .budget_s = 0.5, .hopeless_factor = 1.3, .shortest_turn_s = 1e-3};
  const auto seconds = race(group, works, limits);
  for (std::size_t k = 0; k < grids.size(); ++k)
    trial.tried.push_back({.grid = grids[k], .step_s = seconds[k] / cg_steps_per_solve});
  trial.best = std::ranges::min_element(trial.tried, {}, &TriedGrid::step_s)->grid;
  trial.duration_s =
      group.maximum(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return trial;
}

}  // namespace cg2d
