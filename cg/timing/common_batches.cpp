#include "cg/timing/common_batches.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"

namespace cg2d {
namespace {

using TimedWork = std::function<bool(std::int64_t)>;

/// The pass count with which a batch takes as long as on the other ranks, and long enough for the
/// microseconds between the ranks' leaving a barrier to be lost in it. By the fastest pass of several trials:
/// a disturbed one must not make batches of seconds.
std::int64_t even_pass_count(comm::RankGroup& group, const TimedWork& work, bool& is_right) {
  constexpr double shortest_s = 5e-3;
  constexpr double near_enough = 1.25;
  constexpr double most_growth = 16.0;  // a first pass is slow: its data are not in any cache yet
  constexpr int most_trials = 10;
  double pass_s = std::numeric_limits<double>::infinity();
  std::int64_t pass_count = 1;
  for (int trial = 0; trial < most_trials; ++trial) {
    group.barrier();
    const Stopwatch watch;
    is_right = work(pass_count) && is_right;
    const auto count = static_cast<double>(pass_count);
    pass_s = std::min(pass_s, std::max(watch.seconds(), 1e-9) / count);
    const double wanted = std::max(shortest_s, group.maximum(pass_s)) / pass_s;
    pass_count = std::llround(std::clamp(wanted, count, most_growth * count));
    if (group.minimum(std::int64_t{wanted <= near_enough * count}) != 0) break;
  }
  return pass_count;
}

}  // namespace

double best_batch_s(std::span<const std::vector<double>> ranks) {
  double best_s = std::numeric_limits<double>::infinity();
  for (std::size_t batch = 0; batch < ranks.front().size(); ++batch) {
    double longest_s = 0.0;
    for (const auto& seconds : ranks) longest_s = std::max(longest_s, seconds[batch]);
    best_s = std::min(best_s, longest_s);
  }
  return best_s;
}

double common_pass_rate(comm::RankGroup& group, const TimedWork& work) {
  constexpr std::size_t batch_count = 16;
  bool is_right = true;
  const auto pass_count = even_pass_count(group, work, is_right);
  std::vector<double> seconds(batch_count);
  for (double& batch_s : seconds) {
    group.barrier();
    const Stopwatch watch;
    is_right = work(pass_count) && is_right;
    group.barrier();
    batch_s = watch.seconds();
  }
  agree_on(group, [&] {
    if (!is_right)
      throw RunError(ExitCode::internal, "a loop that measures the machine's limits has a wrong result");
  });
  return static_cast<double>(pass_count) / best_batch_s(group.gather_all(std::span<const double>(seconds)));
}

}  // namespace cg2d
