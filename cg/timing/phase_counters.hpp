#pragma once

// Which phase the counted events belong to.

#include <array>
#include <cstdint>

#include "cg/timing/papi_counters.hpp"
#include "cg/timing/phase.hpp"

namespace cg2d {

/// One rank's events in one timed region. Trivially copyable: ranks send it as it is.
struct RankCounts {
  std::array<CounterValues, phase_count> phases{};
  CounterValues region{};
  std::uint64_t reading_count = 0;
};

/// Adds up events of phases. One reading per phase, behind it: reading is a system call, and a second one per
/// phase would double the cost. None behind a phase that is much shorter than a reading, such as the shuffle
/// of a rank whose piece stays with it. What has not been read is counted with the next phase, as is what
/// happens between two phases, a few scalar instructions; leave_out() keeps the rest from them. Not
/// thread-safe.
class PhaseCounters {
 public:
  explicit PhaseCounters(PapiCounters& counters) : counters_(counters) {}

  /// Forgets what has been counted; the region begins.
  void begin_region();
  /// What has happened since the last reading belongs to this phase, which took that many reference clocks;
  /// to the next one if these are few.
  void end_phase(Phase phase, std::uint64_t clocks) {
    if (clocks < fewest_clocks) return;
    add_since_last(counts_.phases[static_cast<std::size_t>(phase)]);
    ++counts_.reading_count;
  }
  /// What has happened since the last reading belongs to no phase.
  void leave_out();
  /// The region ends. What has happened since the last reading belongs to no phase.
  void end_region();
  [[nodiscard]] const RankCounts& counts() const { return counts_; }

  /// A reading by a system call takes some 2000 to 3000.
  static constexpr std::uint64_t fewest_clocks = 1000;

  /// Reference clocks that one reading costs, the smallest mean of several batches.
  [[nodiscard]] double measure_clocks_per_reading();

 private:
  void add_since_last(CounterValues& sums);

  PapiCounters& counters_;
  RankCounts counts_;
  CounterValues first_{};
  CounterValues last_{};
};

}  // namespace cg2d
