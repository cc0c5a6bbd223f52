#include "cg/stencil/block_trial.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/sample.hpp"
#include "cg/stencil/wavefront.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {
namespace {

/// Reads planes and writes them as they are, as a pass does, with nothing to compute.
StorageTimes try_storage(const BlockTrialPlan& plan) {
  constexpr std::int64_t wanted_bytes = std::int64_t{256} << 20;
  const auto wanted =
      std::max<std::int64_t>(wanted_bytes / plan.layout.byte_count(),
                             4 * std::int64_t{store_depth(plan.layout, plan.planes_per_moment)});
  const auto count = std::min(wanted, plan.plane_count);
  const auto before = plan.store->figures();
  const Stopwatch stopwatch;
  plan.store->begin_reading(count);
  for (std::int64_t z = 0; z < count; ++z) {
    const double* const plane = plan.store->next();
    std::copy_n(plane, plan.layout.size(), plan.store->room(z));
    plan.store->written(z);
  }
  plan.store->finish_writing();
  const double plane_s = stopwatch.seconds() / static_cast<double>(count);
  const double wait_s = (plan.store->figures() - before).wait_s();
  return {.plane_s = plane_s, .work_s = std::max(plane_s - wait_s / static_cast<double>(count), 0.0)};
}

/// Seconds for a step of a plane in passes of so many steps. Planes of zeros take as long as others.
double try_computing(const BlockTrialPlan& plan, int block) {
  constexpr std::int64_t far = std::int64_t{1} << 40;  // so many planes that every step has some to compute
  constexpr double enough_s = 0.01;
  constexpr int rounds = 3;  // other load makes some longer: the shortest one counts
  const std::int64_t n = plan.planes_per_moment;
  Wavefront wavefront(plan.layout, {.most_steps = block, .planes_per_moment = plan.planes_per_moment});
  kernels::PageBuffer<double> planes(static_cast<std::size_t>(2 * n * plan.layout.size()));
  std::vector<const double*> given;
  std::vector<double*> made;
  for (std::int64_t k = 0; k < n; ++k) {
    given.push_back(planes.data() + 2 * k * plan.layout.size());
    made.push_back(planes.data() + (2 * k + 1) * plan.layout.size());
  }
  wavefront.begin({.domain_planes = 3 * far, .slab = {.begin = far, .end = 2 * far}, .step_count = block});
  std::int64_t first = far + block;
  const auto advance = [&] {
    wavefront.advance(first, given, made);
    first += n;
  };
  advance();  // touches all memory
  auto shortest_s = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const Stopwatch stopwatch;
    std::int64_t moments = 0;
    do {
      advance();
      ++moments;
    } while (stopwatch.seconds() < enough_s);
    shortest_s = std::min(shortest_s, stopwatch.seconds() / static_cast<double>(moments * n * block));
  }
  return shortest_s;
}

}  // namespace

BlockChoice try_blocks(const BlockTrialPlan& plan, comm::RankGroup& group) {
  constexpr double most_seconds = 3.0;
  BlockChoice choice;
  const Stopwatch stopwatch;
  if (plan.store != nullptr) {
    group.barrier();
    StorageTimes mine;
    agree_on(group, [&] { mine = try_storage(plan); });
    choice.storage = {.plane_s = group.maximum(mine.plane_s), .work_s = group.maximum(mine.work_s)};
  }
  const Stopwatch computing;
  bool is_over = false;
  for (const int block : candidate_blocks(std::min(plan.most_block, most_tried_block))) {
    if (is_over) break;
    double plane_step_s = 0.0;
    group.barrier();
    agree_on(group, [&] { plane_step_s = try_computing(plan, block); });
    choice.trials.push_back({.block = block, .plane_step_s = group.maximum(plane_step_s)});
    choice.predictions.push_back(predict_block(plan.work, choice.trials.back(), choice.storage));
    is_over = group.maximum(computing.seconds()) > most_seconds;
  }
  choice.duration_s = group.maximum(stopwatch.seconds());
  return choice;
}

}  // namespace cg2d
