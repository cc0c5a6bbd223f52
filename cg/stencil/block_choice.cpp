#include "cg/stencil/block_choice.hpp"

#include <algorithm>

namespace cg2d {

std::vector<int> candidate_blocks(int most) {
  std::vector<int> blocks;
  for (int power = 1; power < most; power *= 2) {
    blocks.push_back(power);
    if (power >= 2 && power / 2 * 3 < most) blocks.push_back(power / 2 * 3);
  }
  blocks.push_back(most);
  return blocks;
}

BlockPrediction predict_block(const StencilWork& work, const BlockTrial& trial, const StorageTimes& storage) {
  // A device that becomes slower by a quarter is to be hidden, too.
  constexpr double reserve = 1.25;
  const auto planes = static_cast<double>(work.plane_count);
  BlockPrediction prediction{.block = trial.block};
  const auto add = [&](int pass_count, int steps) {
    const double computing_s = static_cast<double>(work.planes_of_pass(steps)) * trial.plane_step_s;
    const double storage_s = planes * storage.plane_s;
    prediction.pass_count += pass_count;
    prediction.computing_s += pass_count * computing_s;
    prediction.storage_s += pass_count * storage_s;
    prediction.total_s += pass_count * std::max(computing_s + planes * storage.work_s, reserve * storage_s);
  };
  add(work.step_count / trial.block, trial.block);
  if (const int rest = work.step_count % trial.block; rest > 0) add(1, rest);
  return prediction;
}

const BlockPrediction& choose_block(std::span<const BlockPrediction> predictions) {
  constexpr double good_enough = 1.02;
  const auto best = std::ranges::min_element(predictions, {}, &BlockPrediction::total_s);
  return *std::ranges::find_if(
      predictions, [&](const auto& prediction) { return prediction.total_s <= good_enough * best->total_s; });
}

}  // namespace cg2d
