#pragma once

// The measurement of a timed region: clocks, phases, traffic, vector work, counted events and a trace, around
// any callable that runs outer iterations.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cg/machine/quiet.hpp"
#include "cg/run/run_observers.hpp"
#include "cg/run/run_report.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/stepped_solver.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/timing/phase_trace.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Measures regions in which one solver works, one after the other. Holds references: solver, communicator
/// and group must outlive it.
class RegionMeasurement {
 public:
  RegionMeasurement(SteppedSolver& solver, const comm::Communicator& communicator, comm::RankGroup& group)
      : solver_(solver), communicator_(communicator), group_(group) {}
  ~RegionMeasurement();
  RegionMeasurement(const RegionMeasurement&) = delete;
  RegionMeasurement& operator=(const RegionMeasurement&) = delete;

  /// Counts events of the phases from now on. The counters must outlive this.
  void count_events(PhaseCounters& counters);
  /// Measures the machine's quiet in each region. The meter must outlive this.
  void measure_quiet(QuietMeter& meter) { quiet_ = &meter; }
  /// Traces that many CG steps of the first region. product_parts: as BlockProduct::part_count().
  void record_trace(int step_count, std::size_t product_parts);

  using Observers = std::span<OuterStepObserver* const>;
  /// region(observers) runs outer iterations, and tells the observers of each: those given here, between
  /// those of the measurement. Returns its steps. Collective: the ranks begin together. Throws what the
  /// region throws, and MpiError.
  std::vector<OuterStep> around(Observers observers,
                                const std::function<std::vector<OuterStep>(Observers)>& region);

  /// The results of the last region.
  [[nodiscard]] const RankTimes& times() const { return times_; }
  [[nodiscard]] const RankCounts& counts() const { return counters_->counts(); }
  /// The trace of the first region; only after record_trace().
  [[nodiscard]] std::span<const TraceEvent> trace_events() const { return trace_->events(); }
  [[nodiscard]] const ClockMark& first_mark() const { return first_mark_; }
  [[nodiscard]] const ClockMark& last_mark() const { return last_mark_; }

 private:
  /// Counts that only grow.
  struct Totals {
    std::array<comm::Traffic, comm::operation_count> sent;
    std::uint64_t wait_count = 0;
    VectorWork dot_work;
    VectorWork update_work;
  };
  [[nodiscard]] Totals totals() const;
  void note_growth_since(const Totals& before);
  [[nodiscard]] std::vector<OuterStepObserver*> with_own(Observers observers, bool is_traced);
  bool begin_trace();
  void end_trace();

  SteppedSolver& solver_;
  const comm::Communicator& communicator_;
  comm::RankGroup& group_;
  RankTimes times_{};
  QuietMeter* quiet_ = nullptr;
  PhaseCounters* counters_ = nullptr;
  std::optional<CounterPause> counter_pause_;
  std::optional<PhaseTrace> trace_;
  std::optional<TraceBars> trace_bars_;
  ClockMark first_mark_;
  ClockMark last_mark_;
};

}  // namespace cg2d
