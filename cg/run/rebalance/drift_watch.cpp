#include "cg/run/rebalance/drift_watch.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

#include "comm/speed_shares.hpp"

namespace cg2d {
namespace {

constexpr std::size_t window = 3;
constexpr double least_gain = 0.02;    // of the products of an outer iteration: less is noise
constexpr double least_return = 1.25;  // of the cost of a move, since what is measured now need not last

double total_of(std::span<const double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

/// Nonzeros per second of each rank. One without nonzeros, or without a time, counts as fast as the mean of the others.
std::vector<double> speeds_of(const ProductLoad& load) {
  const auto& [seconds, nonzeros] = load;
  std::vector<double> speeds;
  double sum = 0.0;
  double count = 0.0;
  for (std::size_t rank = 0; rank < nonzeros.size(); ++rank) {
    const bool is_known = nonzeros[rank] > 0.0 && seconds[rank] > 0.0;
    speeds.push_back(is_known ? nonzeros[rank] / seconds[rank] : 0.0);
    sum += speeds.back();
    count += is_known ? 1.0 : 0.0;
  }
  for (double& speed : speeds) {
    if (speed == 0.0) speed = count > 0.0 ? sum / count : 1.0;
  }
  return speeds;
}

}  // namespace

double slowest_s(const ProductLoad& load) { return std::ranges::max(load.seconds); }

void DriftWatch::note(ProductLoad load) {
  loads_.push_back(std::move(load));
  if (loads_.size() > window) loads_.pop_front();
}

bool DriftWatch::pays(const MoveCost& cost, std::span<const double> shares) const {
  if (loads_.size() < window) return false;
  return std::ranges::all_of(loads_, [&](const auto& load) {
    const auto speeds = speeds_of(load);
    const double speed = shares.empty() ? total_of(speeds) : comm::speed_of_shares(shares, speeds, grid_);
    const double now_s = cg2d::slowest_s(load);
    const double gain_s = now_s - total_of(load.nonzeros) / speed;
    return gain_s > least_gain * now_s && gain_s * cost.steps_left > least_return * cost.seconds;
  });
}

std::vector<double> DriftWatch::speeds() const { return speeds_of(mean_load()); }

ProductLoad DriftWatch::mean_load() const {
  ProductLoad mean{.seconds = std::vector(loads_.front().seconds.size(), 0.0),
                   .nonzeros = loads_.front().nonzeros};  // all are of the same blocks
  auto& seconds = mean.seconds;
  for (const auto& load : loads_) std::ranges::transform(seconds, load.seconds, seconds.begin(), std::plus());
  for (double& one : seconds) one /= static_cast<double>(loads_.size());
  return mean;
}

double DriftWatch::slowest_s() const {
  double sum = 0.0;
  for (const auto& load : loads_) sum += cg2d::slowest_s(load);
  return sum / static_cast<double>(loads_.size());
}

}  // namespace cg2d
