#pragma once

// The measurement of a timed region: clocks, phases, traffic, vector work, counted events and a trace, around
// any callable that runs outer iterations of the benchmark, or one solve of a system.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/machine/noise_monitor.hpp"
#include "cg/run/session_report.hpp"
#include "cg/solver/distributed_vectors.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/timing/phase_trace.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Draws the bars of CG steps and outer iterations into a trace.
class TraceBars final : public StepObserver, public OuterStepObserver {
 public:
  explicit TraceBars(PhaseTrace& trace) : trace_(trace) {}

  void before_step() override { trace_.begin(TraceEvent::cg_step); }
  bool after_step(const CgState& /*state*/) override {
    trace_.end(TraceEvent::cg_step);
    return false;
  }
  void before_outer_step() override { trace_.begin(TraceEvent::outer_iteration); }
  void after_outer_step(int /*number*/, const OuterStep& /*step*/) override {
    trace_.end(TraceEvent::outer_iteration);
  }

 private:
  PhaseTrace& trace_;
};

/// The parts of a solver that a measurement reads, and observes.
struct MeasuredSolver {
  PhaseTimer& timer;
  StepObservers& observers;                            ///< of all its steps
  std::function<comm::Traffic(comm::Operation)> sent;  ///< by this rank so far
  const DistributedVectors& vectors;
  std::size_t local_size = 0;  ///< elements of this rank's piece of a vector
};

/// Measures regions in which one solver works, one after the other. Holds references: the solver's parts and the
/// group must outlive it.
class RegionMeasurement final : private OuterStepObserver {
 public:
  RegionMeasurement(MeasuredSolver solver, comm::RankGroup& group, const Environment& environment,
                    int thread_count)
      : solver_(std::move(solver)), group_(group), noise_(group, environment, thread_count) {}
  ~RegionMeasurement() override;
  RegionMeasurement(const RegionMeasurement&) = delete;
  RegionMeasurement& operator=(const RegionMeasurement&) = delete;

  /// Counts events of the phases from now on. The counters must outlive this.
  void count_events(EventCounters& counters) { solver_.timer.attach(counters_.emplace(counters)); }
  /// Traces the first CG steps of the first region. The trace must outlive this.
  void record_trace(PhaseTrace& trace);

  using Observers = std::span<OuterStepObserver* const>;
  /// region(observers) runs outer iterations, and tells the observers of each: those given here, between
  /// those of the measurement. Returns its steps. Collective: the ranks begin together. Throws what the
  /// region throws, and MpiError.
  std::vector<OuterStep> around(Observers observers,
                                const std::function<std::vector<OuterStep>(Observers)>& region);

  /// solve() runs one solve; the observer is told of its steps. Collective: the ranks begin together. Throws what the
  /// region throws, and MpiError.
  void around_solve(StepObserver& observer, const std::function<void()>& solve);
  /// Work of an observer, such as a line on stderr, whose events belong to no phase.
  void outside_of_phases(const std::function<void()>& work);

  /// The last region, without its steps. Collective.
  [[nodiscard]] RepeatReport repeat();
  /// RankResult::clocks_per_reading
  [[nodiscard]] double clocks_per_reading() const {
    return counters_ ? counters_->clocks_per_reading() : 0.0;
  }
  /// This rank's part of the trace, which has the events. node: of this rank; ticks_per_second: rank 0's.
  /// Collective.
  [[nodiscard]] RankTrace rank_trace(int node, double ticks_per_second) const;

 private:
  /// Called last of the observers of each outer iteration: events of the others belong to no phase.
  void after_outer_step(int /*number*/, const OuterStep& /*step*/) override { counters_->leave_out(); }
  void measure(const std::function<void()>& region);
  [[nodiscard]] RankTimes totals() const;
  bool begin_trace();
  void end_trace();

  MeasuredSolver solver_;
  comm::RankGroup& group_;
  RankTimes times_{};
  NoiseMonitor noise_;
  std::optional<PhaseCounters> counters_;
  PhaseTrace* trace_ = nullptr;
  std::optional<TraceBars> trace_bars_;
  ClockMark first_mark_;
  ClockMark last_mark_;
};

}  // namespace cg2d
