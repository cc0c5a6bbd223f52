#pragma once

// Every phase of the first CG steps, with its time: the contents of a trace file.

#include <new>

#include "cg/timing/cycle_counter.hpp"
#include "cg/timing/phase.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// A question to rank 0 and its answer, in clocks: sent and received on this rank's counter, answered on rank
/// 0's.
struct RoundTrip {
  uint64_t sent = 0;
  uint64_t answered = 0;
  uint64_t received = 0;
};

/// One moment on both counters. It lies somewhere within the round trip: hence the uncertainty, half of it.
struct ClockMark {
  uint64_t local_clocks = 0;
  uint64_t reference_clocks = 0;    ///< rank 0's
  double uncertainty_clocks = 0.0;  ///< this rank's
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
  double reference_clocks_since(uint64_t origin, uint64_t local_clocks) const;
  double uncertainty_clocks() const { return uncertainty_clocks_; }

 private:
  ClockMark first_;
  double rate_ = 1.0;
  double uncertainty_clocks_ = 0.0;
};

/// The trace that the user asked for.
struct TraceOptions {
  static constexpr int most_steps = 100'000;
  std::string path;  ///< --trace; empty: no trace
  int step_count = 100;
};

/// One bar of the time line, in this rank's reference clocks. Trivially copyable.
struct TraceEvent {
  static constexpr int cg_step = static_cast<int>(phase_count);
  static constexpr int outer_iteration = cg_step + 1;

  uint64_t begin = 0;
  uint64_t end = 0;
  int32_t kind = 0;  ///< a phase's index, cg_step or outer_iteration
  /// Number of the CG step, over all outer iterations, or of the outer iteration; from 0.
  int32_t number = 0;
};

/// Records until so many CG steps have ended. The constructor takes the memory of 32 events per step; what has more, such as a solve with a
/// polynomial preconditioner, or a product in more than nine parts, takes more while it runs. Without memory the trace ends.
/// Not thread-safe.
class PhaseTrace final : public PhaseObserver {
 public:
  explicit PhaseTrace(int step_count);

  void after_phase(Phase phase, uint64_t begin_clocks, uint64_t end_clocks) override {
    if (is_recording_)
      add({.begin = begin_clocks, .end = end_clocks, .kind = static_cast<int>(phase), .number = step_});
  }
  /// A bar of the levels above the phases: TraceEvent::cg_step or outer_iteration.
  void begin(int32_t kind);
  void end(int32_t kind);

  /// Records no more.
  void close() { is_recording_ = false; }
  std::span<const TraceEvent> events() const { return events_; }

 private:
  /// Without memory the trace ends. The destructor of PhaseTimer::Scope calls it, too.
  void add(const TraceEvent& event) noexcept {
    try {
      events_.push_back(event);
    } catch (const std::bad_alloc&) {
      close();
    }
  }

  int step_count_;
  std::vector<TraceEvent> events_;
  bool is_recording_ = true;
  int32_t step_ = 0;
  int32_t outer_ = 0;
  uint64_t step_begin_ = 0;
  uint64_t outer_begin_ = 0;
};

/// One rank's part of a trace.
struct RankTrace {
  std::span<const TraceEvent> events;
  ClockMap clocks;
  uint64_t origin_clocks = 0;     ///< rank 0's clocks where the time line begins
  double ticks_per_second = 0.0;  ///< rank 0's
  int rank = 0;
  int node = 0;
  bool is_of_solve = false;  ///< the bar around the steps is one solve, no outer iteration of the benchmark
};

}  // namespace cg2d
