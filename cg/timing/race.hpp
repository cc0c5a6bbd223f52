#pragma once

// Times several works in turns, so that a change of the machine hits all alike.

#include <functional>
#include <span>
#include <vector>

#include "comm/rank_group.hpp"

namespace cg2d {

/// The limits of the time of a race.
struct RaceLimits {
  int fewest_rounds = 5;
  int most_rounds = 25;
  double budget_s = 1.0;          ///< no round begins after it
  double hopeless_factor = 2.0;   ///< a work that takes so many times as long as the best gets one turn only
  double shortest_turn_s = 1e-3;  ///< a turn repeats its work until it takes that long
};

/// Seconds of one call of each work, turn by turn; at least one turn. Collective; the same answer on every
/// rank.
std::vector<std::vector<double>> race_turns(comm::RankGroup& group,
                                            std::span<const std::function<void()>> works,
                                            const RaceLimits& limits);
/// Median seconds of one call of each work, and the spread of the turns that spread most (see
/// spread_of_repeats()). Collective; the same answer on every rank.
struct RaceResult {
  std::vector<double> medians;
  double spread = 0.0;
};
RaceResult race_with_spread(comm::RankGroup& group, std::span<const std::function<void()>> works,
                            const RaceLimits& limits);
/// The medians alone.
std::vector<double> race(comm::RankGroup& group, std::span<const std::function<void()>> works,
                         const RaceLimits& limits);

}  // namespace cg2d
