// How many steps a pass makes: predicted from measured times.

#include <array>

#include "cg/base/agreement.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/timing/race.hpp"

namespace cg2d {
namespace {

/// Writes planes, whatever is in them, then reads and writes them as a pass does, with nothing to compute.
StorageTimes try_storage(const PlaneLayout& layout, int planes_at_once, PlaneStore& store) {
  constexpr int64_t wanted_bytes = int64_t{256} << 20;
  const auto wanted =
      std::max<int64_t>(wanted_bytes / layout.byte_count(), 4 * int64_t{store_depth(layout, planes_at_once)});
  const auto count = std::min(wanted, store.stored().size());
  const comm::IndexRange planes{.begin = store.stored().begin, .end = store.stored().begin + count};
  for (auto z = planes.begin; z < planes.end; ++z) {
    std::fill_n(store.room(z), layout.size(), 0.0);
    store.written(z);
  }
  store.finish_writing();
  store.take_figures();
  const Stopwatch stopwatch;
  store.begin_reading(planes);
  for (auto z = planes.begin; z < planes.end; ++z) {
    const double* const plane = store.next();
    std::copy_n(plane, layout.size(), store.room(z));
    store.written(z);
  }
  store.finish_writing();
  const double plane_s = stopwatch.seconds() / static_cast<double>(count);
  const double wait_s = store.take_figures().wait_s() / static_cast<double>(count);
  return {.plane_s = plane_s, .work_s = std::max(plane_s - wait_s, 0.0)};
}

/// A wavefront step in the middle of a pass of this size.
std::function<void()> wavefront_step(const StencilMethod& method, const FrontSize& size) {
  // Planes of zeros take as long as others.
  const auto plane_size = method.layout().size();
  const auto planes = std::make_shared<kernels::PageBuffer<double>>(
      static_cast<size_t>(2 * size.planes_at_once * plane_size));
  std::vector<const double*> given;
  std::vector<double*> made;
  for (int64_t k = 0; k < size.planes_at_once; ++k) {
    given.push_back(planes->data() + 2 * k * plane_size);
    made.push_back(planes->data() + (2 * k + 1) * plane_size);
  }
  return [planes, given, made, advance = method.trial_advance(size)] { advance(given, made); };
}

}  // namespace

std::vector<int> candidate_blocks(int most) {
  std::vector<int> blocks;
  for (int power = 1; power < most; power *= 2) {
    blocks.push_back(power);
    if (power >= 2 && power / 2 * 3 < most) blocks.push_back(power / 2 * 3);
  }
  blocks.push_back(most);
  return blocks;
}

BlockPrediction predict_block(const StencilWork& work, int block, double plane_step_s,
                              const StorageTimes& storage) {
  // A device that becomes slower by a quarter is to be hidden, too.
  constexpr double reserve = 1.25;
  const auto planes = static_cast<double>(work.plane_count);
  BlockPrediction prediction{.block = block, .plane_step_s = plane_step_s};
  const auto add = [&](int pass_count, int steps) {
    const double computing_s = static_cast<double>(work.planes_of_pass(steps)) * plane_step_s;
    const double storage_s = planes * storage.plane_s;
    prediction.pass_count += pass_count;
    prediction.computing_s += pass_count * computing_s;
    prediction.storage_s += pass_count * storage_s;
    prediction.total_s += pass_count * std::max(computing_s + planes * storage.work_s, reserve * storage_s);
  };
  add(work.step_count / block, block);
  if (const int rest = work.step_count % block; rest > 0) add(1, rest);
  return prediction;
}

const BlockPrediction& choose_block(std::span<const BlockPrediction> predictions) {
  constexpr double good_enough = 1.02;
  const auto best = std::ranges::min_element(predictions, {}, &BlockPrediction::total_s);
  return *std::ranges::find_if(
      predictions, [&](const auto& prediction) { return prediction.total_s <= good_enough * best->total_s; });
}

BlockChoice try_blocks(const StencilMethod& method, const StencilWork& work, const FrontSize& size,
                       PlaneStore* store, comm::RankGroup& group) {
  constexpr double most_seconds = 3.0;
  BlockChoice choice;
  const Stopwatch stopwatch;
  if (store != nullptr) {
    group.barrier();
    StorageTimes mine;
    agree_on(group, [&] { mine = try_storage(method.layout(), size.planes_at_once, *store); });
    choice.storage = {.plane_s = group.maximum(mine.plane_s), .work_s = group.maximum(mine.work_s)};
  }
  const Stopwatch computing;
  for (const int block : candidate_blocks(size.most_steps)) {
    Agreement agreement(group);
    std::function<void()> advance;
    agreement.attempt([&] {
      advance = wavefront_step(method, {.most_steps = block, .planes_at_once = size.planes_at_once});
    });
    agreement.reach();
    const std::array<std::function<void()>, 1> step{[&] { agreement.attempt(advance); }};
    const double step_s =
        race(group, step, {.fewest_rounds = 3, .most_rounds = 3, .shortest_turn_s = 0.01}).medians().front();
    agreement.reach();
    choice.tried.push_back(
        predict_block(work, block, step_s / (block * size.planes_at_once), choice.storage));
    if (group.maximum(computing.seconds()) > most_seconds) break;
  }
  choice.duration_s = group.maximum(stopwatch.seconds());
  return choice;
}

}  // namespace cg2d
