#pragma once

// Times works on all ranks: several in turns, so that a change of the machine hits all alike, and the rate of one while all ranks do it:
// ranks share caches and memory, so a rank that works while the others rest shows a rate that none of them has in a run.

#include <functional>

#include "cg/base/paired_comparison.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class Members;

/// The limits of the time of a race.
struct RaceLimits {
  int fewest_rounds = 5;
  int most_rounds = 25;
  double budget_s = 1.0;          ///< no round begins after it
  double hopeless_factor = 2.0;   ///< a work that takes so many times as long as the best gets one turn only
  double shortest_turn_s = 1e-3;  ///< a turn repeats its work until it takes that long
};

/// Seconds of one call of each work, turn by turn; at least one turn.
struct RaceResult {
  std::vector<std::vector<double>> turns;

  /// Median seconds of each work.
  std::vector<double> medians() const;
  /// Spread of the turns that spread most: see spread_of_repeats().
  double spread() const;
};
/// Collective; the same answer on every rank.
RaceResult race(comm::RankGroup& group, std::span<const std::function<void()>> works,
                const RaceLimits& limits);

/// Which of the works of a race is taken, and how sure that is.
struct RaceVerdict {
  std::string candidate{};  ///< see BestVerdict
  Certainty certainty = Certainty::alone;
  std::string
      reason{};  ///< verdict_text(): "better than shared by 5 % (2 ... 7 %)"; empty where one work is left

  /// "put is better than shared by 5 % (2 ... 7 %)", "no clear winner: put was faster than shared in 5 of 9 rounds", or empty.
  std::string text() const { return reason.empty() ? reason : before_reason() + reason; }
  /// The text before the reason.
  std::string before_reason() const {
    return certainty == Certainty::decided ? candidate + " is " : "no clear winner: " + candidate + " was ";
  }
};

/// The verdict by the turns of at least one work. Hopeless works, which have one turn while others have more, are not
/// compared.
RaceVerdict race_verdict(std::span<const std::vector<double>> turns, std::span<const std::string> names);

void describe(Members& m, RaceVerdict& verdict);

/// Passes per second while all ranks work, in their best batch. work(pass_count) does that many passes, local, and returns false for a wrong
/// result. All ranks take as many passes, and a batch ends with the slowest: their works should take as long as each other's. Collective.
/// Cost: 16 batches of 5 to 10 ms, or of the slowest rank's pass where that takes longer, and those that find the number of passes. Throws
/// RunError with code 70 (on every rank alike) for a wrong result.
double common_pass_rate(comm::RankGroup& group, const std::function<bool(int64_t pass_count)>& work);

}  // namespace cg2d
