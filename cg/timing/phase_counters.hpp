#pragma once

// Events on every rank, and the events of each phase: counters that observe a PhaseTimer.

#include "cg/timing/events.hpp"
#include "cg/timing/phase.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// One rank's events in one timed region. Trivially copyable: ranks send it as it is.
struct RankCounts {
  std::array<CounterValues, phase_count> phases{};
  CounterValues region{};
  uint64_t reading_count = 0;
};

/// Adds up events of phases. One reading per phase, after it: reading is a system call, and a second one per phase would double the cost. Events
/// between two phases, a few scalar instructions, count with the next one; leave_out() keeps the rest from them. Not thread-safe.
class PhaseCounters final : public PhaseObserver {
 public:
  /// Measures what a reading costs. Cost: 400 readings.
  explicit PhaseCounters(EventCounters& counters);

  /// Forgets what has been counted; the region begins.
  void begin_region();
  void after_phase(Phase phase, uint64_t begin_clocks, uint64_t end_clocks) override;
  /// Events since the last reading belong to no phase.
  void leave_out();
  /// The region ends. Events since the last reading belong to no phase.
  void end_region();
  const RankCounts& counts() const { return counts_; }

  /// Reference clocks that one reading costs, the smallest mean of several batches.
  double clocks_per_reading() const { return clocks_per_reading_; }

 private:
  EventCounters& counters_;
  double clocks_per_reading_;
  RankCounts counts_;
  CounterValues first_{};
  CounterValues last_{};
};

/// The events that the user asked for.
struct CounterOptions {
  std::string events{};  ///< --papi: names with commas between them; empty: those of PAPI_EVENTS, if any
  bool reads_environment = true;  ///< PAPI_EVENTS, where there are no names
  bool multiplexed = false;       ///< --papi-multiplex
  bool strict = false;            ///< --papi-strict
  bool has_threads = false;  ///< several per rank: the system's account is the process's, not this thread's
};

/// For options without events to count. Throws InputError for one that says how to count them.
void refuse_ways_to_count(const CounterOptions& options);

/// The events and groups of the option, or of the environment's PAPI_EVENTS on rank 0. Collective. Throws
/// InputError, for a name that is no event, too, and as refuse_ways_to_count() where there are none.
std::vector<std::string> wanted_events(const CounterOptions& options, comm::RankGroup& group);

struct CounterSetup {
  std::unique_ptr<EventCounters> counters;  ///< null: nothing was asked for
  std::vector<RefusedEvent> refused;        ///< the same on every rank; the reason is the lowest rank's
};

/// Counts on every rank the events that all of them can count, in the place of each group those that rank 0
/// finds for it; null counters for no names. Collective. Throws RunError (unavailable): PAPI does not start, or
/// the options are strict and an event is refused; InputError: more events than can be counted.
CounterSetup set_up_counters(const std::vector<std::string>& names, const CounterOptions& options,
                             comm::RankGroup& group);

}  // namespace cg2d
