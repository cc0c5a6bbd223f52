#pragma once

// Events on every rank, and the events of each phase: counters that observe a PhaseTimer.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cg/timing/event_counters.hpp"
#include "cg/timing/phase.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// One rank's events in one timed region. Trivially copyable: ranks send it as it is.
struct RankCounts {
  std::array<CounterValues, phase_count> phases{};
  CounterValues region{};
  std::uint64_t reading_count = 0;
  SystemUsage usage;  ///< of the region, by the system's own account
};

/// Adds up events of phases. One reading per phase, after it: reading is a system call, and a second one per
/// phase would double the cost. None after a phase that is much shorter than a reading, such as the shuffle
/// of a rank whose piece stays with it. Events that have not been read are counted with the next phase, as
/// are those between two phases, a few scalar instructions; leave_out() keeps the rest from them. Not
/// thread-safe.
class PhaseCounters final : public PhaseObserver {
 public:
  explicit PhaseCounters(EventCounters& counters) : counters_(counters) {}

  /// Forgets what has been counted; the region begins.
  void begin_region();
  /// Events since the last reading belong to this phase, or to the next one if this one was short.
  void after_phase(Phase phase, std::uint64_t begin_clocks, std::uint64_t end_clocks) override {
    if (end_clocks - begin_clocks < fewest_clocks) return;
    add_since_last(counts_.phases[index_of(phase)]);
    ++counts_.reading_count;
  }
  /// Events since the last reading belong to no phase.
  void leave_out();
  /// The region ends. Events since the last reading belong to no phase.
  void end_region();
  [[nodiscard]] const RankCounts& counts() const { return counts_; }

  /// A reading by a system call takes some 2000 to 3000.
  static constexpr std::uint64_t fewest_clocks = 1000;

  /// Reference clocks that one reading costs, the smallest mean of several batches.
  [[nodiscard]] double measure_clocks_per_reading();

 private:
  void add_since_last(CounterValues& sums);

  EventCounters& counters_;
  SystemUsage first_usage_;
  RankCounts counts_;
  CounterValues first_{};
  CounterValues last_{};
};

/// The events that the user asked for.
struct CounterOptions {
  std::string events;        ///< --papi: names with commas between them; empty: those of PAPI_EVENTS, if any
  bool multiplexed = false;  ///< --papi-multiplex
  bool strict = false;       ///< --papi-strict
  bool has_threads = false;  ///< several per rank: the system's account is the process's, not this thread's
};

/// The events and groups of the option, or of the environment's PAPI_EVENTS on rank 0. Collective. Throws
/// InputError, for a name that is no event, too.
std::vector<std::string> wanted_events(const CounterOptions& options, comm::RankGroup& group);

struct CounterSetup {
  std::vector<std::string> asked;           ///< events and groups
  std::unique_ptr<EventCounters> counters;  ///< null: nothing was asked for
  std::vector<RefusedEvent> refused;        ///< the same on every rank; the reason is the lowest rank's
};

/// Counts on every rank the events that all of them can count, in the place of each group those that rank 0
/// finds for it; null counters for no names. Collective. Throws RunError (unavailable): PAPI does not start, or
/// the options are strict and an event is refused; InputError: more events than can be counted.
CounterSetup set_up_counters(const std::vector<std::string>& names, const CounterOptions& options,
                             comm::RankGroup& group);

}  // namespace cg2d
