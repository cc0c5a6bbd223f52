#include "cg/tuning/grid_shortlist.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "cg/machine/performance_model.hpp"

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

}  // namespace

GridShortlist make_grid_shortlist(comm::RankGroup& group, const ShortlistConfig& config) {
  std::vector<comm::ProcessGrid> by_model;
  if (group.rank() == 0) by_model = shortlist_by_model(config, group.size());
  // Only rank 0 has the description.
  by_model = group.gather_all(std::span<const comm::ProcessGrid>(by_model)).front();
  if (!by_model.empty()) return {.grids = by_model, .made_by = "model"};
  return {.grids = shortlist_by_rule(config.matrix, config.configuration, group.size(), most_grids),
          .made_by = "rule"};
}

}  // namespace cg2d
