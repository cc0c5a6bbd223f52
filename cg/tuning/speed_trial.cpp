#include "cg/tuning/trial.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "cg/tuning/tune_measure.hpp"

namespace cg2d {
namespace {

constexpr int most_rounds = 3;
constexpr double least_gain = 1.02;
constexpr double most_sample_nonzeros = 1e6;
constexpr double another_shape = 0.05;  // of each length; speeds change with it by less than least_gain
constexpr int window_count = 5;
constexpr double window_s = 0.008;
constexpr double shared_window_s = 0.025;  // several time slices, where ranks share a core

/// A block of rows of one length.
struct SampleShape {
  double row_length = 1.0;
  double row_count = 1.0;
  double columns = 1.0;

  bool is_near(const SampleShape& other) const {
    const auto are_near = [](double a, double b) {
      return std::abs(a - b) <= another_shape * std::max(a, b);
    };
    return are_near(row_length, other.row_length) && are_near(row_count, other.row_count) &&
           are_near(columns, other.columns);
  }
};

/// The shape and the mean length of rows that a rank's block has with these shares.
SampleShape sample_shape(const SpeedTrialConfig& config, std::span<const double> shares,
                         const comm::ProcessGrid& grid, int rank) {
  const auto order = static_cast<double>(config.matrix.key.order);
  const auto layout = comm::BlockLayout(grid, comm::piece_starts_of_shares(config.matrix.key.order, shares));
  const auto rows = static_cast<double>(layout.rows_of(rank).size());
  const auto columns = static_cast<double>(layout.columns_of(rank).size());
  double row_length = config.matrix.nonzero_count / order * columns / order;
  if (config.chosen.kernel->stores_half()) row_length *= 0.5;
  const double length = std::max(std::round(row_length), 1.0);
  // As many nonzeros as the block has, also where its rows have less than one.
  const double row_count =
      std::clamp(rows * row_length / length, 1.0, std::max(most_sample_nonzeros / length, 1.0));
  return {.row_length = length, .row_count = row_count, .columns = std::max(columns, 1.0)};
}

/// Nonzeros per second of this rank's products, while all ranks compute, in a few windows.
std::vector<double> measured_speeds(comm::RankGroup& group, const std::function<void()>& product,
                                    double nonzeros, double slowness) {
  product();
  Slowdown slowdown(std::vector{SlowRank{.factor = slowness}});
  const double least_s = group.waiter().mode() == comm::WaitMode::yield ? shared_window_s : window_s;
  std::vector<double> speeds;
  for (int window = 0; window < window_count; ++window) {
    group.barrier();
    const Stopwatch watch;
    double count = 0.0;
    double seconds = 0.0;
    do {
      const Stopwatch of_product;
      slowdown.begin_product();
      product();
      slowdown.extend(of_product);
      ++count;
      seconds = watch.seconds();
    } while (seconds < least_s);
    speeds.push_back(count * nonzeros / seconds);
  }
  return speeds;
}

/// Their sum is 1.
std::vector<double> even_shares(const comm::ProcessGrid& grid) {
  return std::vector<double>(static_cast<size_t>(grid.rank_count()), 1.0 / grid.rank_count());
}

/// The three speeds of all ranks together, from those of each, their places and the shares.
void complete(SpeedTrial& trial) {
  const auto& grid = trial.grid;
  trial.ideal = std::accumulate(trial.speeds.begin(), trial.speeds.end(), 0.0);
  trial.reachable = comm::speed_of_shares(trial.shares, trial.speeds, grid);
  trial.even = comm::speed_of_shares(even_shares(grid), trial.speeds, grid);
}

std::optional<SpeedTrial> known_speeds(const LoadedProfile& profile, const SpeedCase& wanted) {
  const auto& speeds = profile.processor.speeds;
  const auto known = std::ranges::find_if(speeds, [&](const auto& timed) { return timed.is_like(wanted); });
  if (known == speeds.end()) return std::nullopt;
  SpeedTrial trial;
  trial.from_profile = true;
  trial.kept_in = profile.path;
  trial.measured = known->measured;
  std::vector<int> rank_at;
  for (const auto& rank : known->ranks) {
    trial.speeds.push_back(rank.nonzeros_per_s);
    trial.shares.push_back(rank.share);
    rank_at.push_back(rank.rank_here);
  }
  trial.grid = wanted.configuration.grid.in_order(rank_at);
  complete(trial);
  return trial;
}

}  // namespace

SpeedTrial measure_speeds(comm::RankGroup& group, const SpeedTrialConfig& config) {
  const Stopwatch watch;
  const auto own_grid = config.configuration.grid;
  const auto even = even_shares(own_grid);
  SpeedTrial trial;
  trial.grid = own_grid;
  trial.shares = even;
  const auto speed_of = [&](std::span<const double> shares, const comm::ProcessGrid& grid) {
    return comm::speed_of_shares(shares, trial.speeds, grid);
  };
  auto shape = sample_shape(config, trial.shares, trial.grid, group.rank());
  while (trial.round_count < most_rounds) {
    ++trial.round_count;
    auto block = constant_rows_block(std::llround(shape.row_length), std::llround(shape.row_count),
                                     std::llround(shape.columns));
    const double nonzeros =
        (config.chosen.kernel->stores_half() ? 2.0 : 1.0) * static_cast<double>(block.nonzero_count());
    const auto product = local_product(*config.chosen.kernel, std::move(block),
                                       config.configuration.thread_count, config.chosen.tuning);
    const auto mine = measured_speeds(group, product, nonzeros, config.slowness);
    auto& spread = trial.measured.spread;
    spread = std::max(spread, spread_of_repeats(mine));
    trial.speeds = group.gather_one(middle_of(mine));
    const auto found = agreed_shares_and_places(group, trial.speeds, trial.grid);
    if (found.reachable < speed_of(trial.shares, trial.grid) * least_gain) break;
    trial.shares = found.pieces;
    trial.grid = found.grid;
    const auto before = std::exchange(shape, sample_shape(config, trial.shares, trial.grid, group.rank()));
    if (group.minimum(int64_t{shape.is_near(before)}) != 0) break;
  }
  // Where speeds vary more than they differ, the last ones may contradict the shares that others led to.
  if (speed_of(trial.shares, trial.grid) < speed_of(even, own_grid)) {
    trial.shares = even;
    trial.grid = own_grid;
  }
  complete(trial);
  trial.duration_s = group.maximum(watch.seconds());
  return trial;
}

std::vector<std::string> places_of(const Environment& environment, const BindingResult& binding) {
  std::vector<std::string> places;
  for (size_t rank = 0; rank < binding.ranks.size(); ++rank) {
    auto threads = binding.ranks[rank];
    threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
    places.push_back(
        fmt::format("{} {}", environment.node_of(static_cast<int>(rank)).host, fmt::join(threads, " ")));
  }
  return places;
}

SpeedTrial choose_speeds(comm::RankGroup& group, const SpeedChoiceConfig& config) {
  if (group.maximum(config.trial.slowness) > 1.0) {
    auto slowed = measure_speeds(group, config.trial);
    slowed.not_kept_because = "ranks are slowed on purpose";
    return slowed;
  }
  SpeedCase mine{.matrix = config.trial.matrix.key, .configuration = config.trial.configuration};
  for (auto& place : places_of(config.environment, config.binding))
    mine.ranks.push_back({.place = std::move(place)});
  if (auto known = known_speeds(config.profile, mine)) return *std::move(known);
  const Stopwatch watch;
  SpeedTrial trial;
  const auto& source = config.profile_source;
  const int thread_count = config.trial.configuration.thread_count;
  const auto fault = [&] {
    const double fastest = std::ranges::max(trial.speeds);
    return fastest <= thread_count / PhysicalBounds::least_element_s
               ? std::string()
               : fmt::format("{:.4g} nonzeros per s are beyond what a machine can do", fastest);
  };
  const auto refusal =
      measure_with_retries(group, {.name = {},
                                   .environment = config.environment,
                                   .keeps_disturbed = source.takes_disturbed(),
                                   .most_attempts = 1,
                                   .record = trial.measured,
                                   .measure = [&] { trial = measure_speeds(group, config.trial); },
                                   .why_unphysical = fault});
  trial.not_kept_because = refusal;
  for (size_t rank = 0; rank < mine.ranks.size(); ++rank) {
    mine.ranks[rank].nonzeros_per_s = trial.speeds[rank];
    mine.ranks[rank].share = trial.shares[rank];
    mine.ranks[rank].rank_here = trial.grid.rank_at_place(static_cast<int>(rank));
  }
  mine.measured = trial.measured;
  keep_result(group, source, config.environment.nodes.front().processor_with_caches(), {.speeds = {mine}},
              trial);
  trial.duration_s = group.maximum(watch.seconds());
  return trial;
}

std::vector<double> agreed_shares(comm::RankGroup& group, std::span<const double> speeds,
                                  const comm::ProcessGrid& grid) {
  const auto mine = comm::shares_in_place(speeds, grid);
  return group.gather_all(std::span<const double>(mine)).front();
}

comm::SpeedShares agreed_shares_and_places(comm::RankGroup& group, std::span<const double> speeds,
                                           const comm::ProcessGrid& grid) {
  auto mine = comm::shares_on_grid(speeds, grid);
  const auto rank_at = mine.grid.ranks_by_place();
  mine.pieces = group.gather_all(std::span<const double>(mine.pieces)).front();
  mine.grid = grid.in_order(group.gather_all(std::span<const int>(rank_at)).front());
  mine.reachable = comm::speed_of_shares(mine.pieces, speeds, mine.grid);
  return mine;
}

std::vector<double> own_slowness(std::span<const double> speeds, std::span<const double> factors) {
  std::vector<double> slowness;
  for (size_t rank = 0; rank < speeds.size(); ++rank)
    slowness.push_back(1.0 / (speeds[rank] * factors[rank]));
  const double mean =
      std::accumulate(slowness.begin(), slowness.end(), 0.0) / static_cast<double>(speeds.size());
  for (double& one : slowness) one /= mean;
  return slowness;
}

void describe(Members& m, SpeedTrial& trial) {
  describe_kept(m, trial);
  m("ideal_nonzeros_per_s", trial.ideal, positive("Sum of the ranks' own speeds."));
  m("reachable_nonzeros_per_s", trial.reachable, positive("With these shares on this grid."));
  m("even_nonzeros_per_s", trial.even, positive("With even pieces on it."));
  m("speeds", trial.speeds, positive("Nonzeros per second of each rank, while all compute."));
  m("shares", trial.shares, positive("Of the nonzeros, for each piece."));
  auto rank_at = trial.grid.ranks_by_place();
  m("rank_at", rank_at, at_least(0, "The rank at each place of the grid, along its process rows."));
  if (m.reads()) {
    try {
      trial.grid =
          comm::ProcessGrid{.columns = static_cast<int>(rank_at.size()), .rows = 1}.in_order(rank_at);
    } catch (const std::invalid_argument&) {
      m.complain(fmt::format("{} must have each rank once", m.where("rank_at")));
    }
  }
  m("rounds", trial.round_count, at_least(0, "Of measuring and cutting; 0 where nothing was measured."));
}

}  // namespace cg2d
