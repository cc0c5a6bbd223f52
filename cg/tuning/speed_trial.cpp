#include "cg/tuning/speed_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/solver/slowdown.hpp"
#include "cg/tuning/local_product.hpp"
#include "cg/tuning/tune_measure.hpp"
#include "comm/speed_shares.hpp"

namespace cg2d {
namespace {

constexpr int most_rounds = 3;
constexpr double least_gain = 1.02;
constexpr double most_sample_nonzeros = 1e6;
constexpr int window_count = 3;
constexpr double window_s = 0.04;  // several time slices, where ranks share a core

/// A block of the shape and the mean length of rows that this rank's has with these shares.
kernels::CsrBlock sample_block(const SpeedTrialConfig& config, std::span<const double> shares, int rank) {
  const auto& grid = config.configuration.grid;
  const auto order = static_cast<double>(config.matrix.key.order);
  const auto layout = comm::BlockLayout(grid, comm::piece_starts_of_shares(config.matrix.key.order, shares));
  const auto rows = static_cast<double>(layout.row_block(grid.row_of(rank)).size());
  const auto columns = static_cast<double>(layout.column_block(grid.column_of(rank)).size());
  double row_length = config.matrix.nonzero_count / order * columns / order;
  if (config.chosen.kernel->stores_half()) row_length *= 0.5;
  const double length = std::max(std::round(row_length), 1.0);
  // As many nonzeros as the block has, also where its rows have less than one.
  const double row_count =
      std::clamp(rows * row_length / length, 1.0, std::max(most_sample_nonzeros / length, 1.0));
  return constant_rows_block(static_cast<std::int64_t>(length), std::llround(row_count),
                             std::max<std::int64_t>(std::llround(columns), 1));
}

/// Nonzeros per second of this rank's products, while all ranks compute: the median of a few windows.
double measured_speed(comm::RankGroup& group, LocalProduct& product, double nonzeros, double slowness) {
  product.multiply();
  Slowdown slowdown({{.first_product = 0, .factor = slowness}});
  std::vector<double> speeds;
  for (int window = 0; window < window_count; ++window) {
    group.barrier();
    const Stopwatch watch;
    double count = 0.0;
    double seconds = 0.0;
    do {
      const Stopwatch of_product;
      slowdown.begin_product();
      product.multiply();
      slowdown.extend(of_product);
      ++count;
      seconds = watch.seconds();
    } while (seconds < window_s);
    speeds.push_back(count * nonzeros / seconds);
  }
  return sample_of(std::move(speeds)).median;
}

/// That of this rank with these shares.
double speed_with(std::span<const double> shares, comm::RankGroup& group, const SpeedTrialConfig& config) {
  const bool stores_half = config.chosen.kernel->stores_half();
  auto block = sample_block(config, shares, group.rank());
  const double nonzeros = (stores_half ? 2.0 : 1.0) * static_cast<double>(block.nonzero_count());
  LocalProduct product(*config.chosen.kernel, std::move(block), config.configuration.thread_count,
                       config.chosen.tuning);
  return measured_speed(group, product, nonzeros, config.slowness);
}

}  // namespace

SpeedTrial measure_speeds(comm::RankGroup& group, const SpeedTrialConfig& config) {
  const Stopwatch watch;
  const auto& grid = config.configuration.grid;
  const std::vector<double> even(static_cast<std::size_t>(group.size()), 1.0 / group.size());
  SpeedTrial trial{.speeds = {}, .shares = even};
  const auto speed_of = [&](std::span<const double> shares) {
    return comm::speed_of_shares(shares, trial.speeds, grid);
  };
  while (trial.round_count < most_rounds) {
    ++trial.round_count;
    trial.speeds = group.gather_one(speed_with(trial.shares, group, config));
    const auto best = comm::shares_in_place(trial.speeds, grid);
    const auto shares = group.gather_all(std::span<const double>(best)).front();
    if (speed_of(shares) < speed_of(trial.shares) * least_gain) break;
    trial.shares = shares;
  }
  trial.even = speed_of(even);
  // Where speeds vary more than they differ, the last ones may contradict the shares that others led to.
  if (speed_of(trial.shares) < trial.even) trial.shares = even;
  trial.ideal = std::accumulate(trial.speeds.begin(), trial.speeds.end(), 0.0);
  trial.reachable = speed_of(trial.shares);
  trial.duration_s = group.maximum(watch.seconds());
  return trial;
}

std::string describe_speeds(const SpeedTrial& trial, const comm::ProcessGrid& grid, double achieved) {
  constexpr double billion = 1e9;
  const auto with_share = [&](double speed) {
    return fmt::format("{:.3g} ({:.0f} %)", speed / billion, 100.0 * speed / trial.ideal);
  };
  return fmt::format(
      "ideal {:.3g}, reachable on {} {}, {}even pieces {} billion nonzeros per s; {} in {:.2g} s",
      trial.ideal / billion, grid.name(), with_share(trial.reachable),
      achieved > 0.0 ? fmt::format("achieved {}, ", with_share(achieved)) : "", with_share(trial.even),
      format_count(trial.round_count, "round"), trial.duration_s);
}

}  // namespace cg2d
