#pragma once

// Why one grid is slower than another: the phases whose times differ, with their messages, bytes and events. Pure: no
// MPI, no files.

#include <utility>

#include "cg/report/run_verdict.hpp"

namespace cg2d {

/// One phase of a CG step on two grids; means over the ranks, and over the middle half of the rounds by the difference of the
/// whole step: so phases and what is outside them add up to the whole.
struct PhaseDifference {
  std::optional<Phase>
      phase;  ///< empty: time outside all phases, and that by which the slowest rank exceeds the mean
  PhaseShare slower{};
  PhaseShare faster{};
  PhaseShare change{};  ///< slower - faster: messages and bytes are exact
  double share = 0.0;   ///< of its time in the whole difference; all together are 1
  /// The time of the faster grid with the slower one's phase in it, by its own time: how much this phase alone costs.
  RatioInterval cost{};

  /// Whether it is beyond the noise: wrong for 1 phase of 100 at most.
  bool is_sure() const { return cost.is_above(1.0) || cost.is_below(1.0); }
};

/// An event of a phase whose counts differ beyond what chance makes of so many; per CG step, mean over the ranks.
struct EventDifference {
  std::string event;
  Phase phase = Phase::multiply;
  double slower = 0.0;
  double faster = 0.0;
  double ratio() const { return slower / faster; }
};

struct GridDifference {
  ConfiguredProblem slower;
  ConfiguredProblem faster;
  RatioInterval ratio;
  /// Difference of a CG step, over the same rounds as that of the phases.
  double difference_s = 0.0;
  std::vector<PhaseDifference> phases{};  ///< phases of the benchmark, in their order, and the rest
  std::vector<EventDifference> events{};  ///< the greatest ratios first, up or down

  /// Whether the slower one is slower at all.
  bool is_sure() const { return ratio.is_above(1.0 + least_claimed_gain); }
};

/// The candidate of a row against the next one and the last one.
std::vector<GridDifference> differences_from_best(const GridVerdict& row);

void describe(Members& m, GridDifference& difference);

/// Two grids of a row against each other; nothing where the row lacks one of them.
using GridPair = std::pair<comm::ProcessGrid, comm::ProcessGrid>;
std::optional<GridDifference> difference_of_pair(const GridVerdict& row, const GridPair& pair);

/// "4x1 is 12 % (8 ... 15 %) slower than 1x4, +16.2 us per CG step; 85 % of it is multiply (+14 us; ...), ...". Claims
/// only what is sure.
std::string difference_words(const GridDifference& difference);
/// The words, and below them a table of phases, and one of events where there are any, where the difference is sure.
std::string difference_text(const GridDifference& difference);

/// Counted events per grid and phase, and the shares of the machine's limits; empty where no run has any.
std::string extra_run_tables(const std::vector<MeasuredConfiguration>& cells);

}  // namespace cg2d
