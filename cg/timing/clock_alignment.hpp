#pragma once

// The cycle counters of different ranks on one time line: that of rank 0.

#include <cstdint>
#include <span>

#include "comm/rank_group.hpp"

namespace cg2d {

/// A question to rank 0 and its answer, in clocks: sent and received on this rank's counter, answered on rank
/// 0's.
struct RoundTrip {
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t received = 0;
};

/// One moment on both counters. It lies somewhere within the round trip: hence the uncertainty, half of it.
struct ClockMark {
  std::uint64_t local_clocks = 0;
  std::uint64_t reference_clocks = 0;  ///< rank 0's
  double uncertainty_clocks = 0.0;     ///< this rank's
};

/// The mark of the shortest round trip (Cristian 1989), whose middle is taken for the moment of the answer.
/// At least one trip.
ClockMark mark_from(std::span<const RoundTrip> trips);

/// Asks rank 0 for its clock some times; on rank 0 both clocks are one. Collective. Rank after rank: costs
/// some 50 messages each. Throws MpiError.
ClockMark take_clock_mark(comm::RankGroup& group);

/// A straight line through two marks: between them the error is at most the larger uncertainty, whatever the
/// rates of the two counters are.
class ClockMap {
 public:
  /// Two marks at the same moment, or out of order: clocks of the same rate.
  ClockMap(const ClockMark& first, const ClockMark& last);
  /// Rank 0's clocks since `origin` (one of its clocks) for this rank's clocks. Never goes backwards.
  [[nodiscard]] double reference_clocks_since(std::uint64_t origin, std::uint64_t local_clocks) const;
  [[nodiscard]] double uncertainty_clocks() const { return uncertainty_clocks_; }

 private:
  ClockMark first_;
  double rate_ = 1.0;
  double uncertainty_clocks_ = 0.0;
};

}  // namespace cg2d
