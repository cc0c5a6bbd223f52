#pragma once

// The measurement of a timed region: clocks, phases, traffic, vector work, counted events and a trace, of outer iterations of the
// benchmark, or of one solve of a system.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cg/base/sample.hpp"
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

/// Measures regions in which one solver works, one after the other. Holds references: the solver's parts, the counters and the
/// group must live as long, and none of them works after this has gone.
class RegionMeasurement final : private OuterStepObserver {
 public:
  /// counters: of events of the phases; nullptr: none. traced: room for the first CG steps of the first region; empty: no trace.
  RegionMeasurement(MeasuredSolver solver, comm::RankGroup& group, const Environment& environment,
                    int thread_count, EventCounters* counters, const std::optional<TraceRoom>& traced);

  /// A region of outer iterations begins. Returns the observers that are to be told of them: these, between those of the measurement.
  /// Collective: the ranks begin together. Throws MpiError.
  [[nodiscard]] std::vector<OuterStepObserver*> begin(std::vector<OuterStepObserver*> observers);
  /// A region of one solve begins; the observer is told of its steps until the end. Collective as begin().
  void begin_solve(StepObserver& observer);
  /// The region ends. Collective.
  void end();
  /// Work of an observer, such as a line on stderr, whose events belong to no phase.
  void outside_of_phases(const std::function<void()>& work);

  /// The last region, without its steps. Collective.
  [[nodiscard]] RepeatReport repeat();
  /// RankResult::clocks_per_reading
  [[nodiscard]] double clocks_per_reading() const {
    return counters_ ? counters_->clocks_per_reading() : 0.0;
  }
  /// This rank's part of the trace, which refers to events of this. node: of this rank; ticks_per_second: rank 0's.
  /// Collective.
  [[nodiscard]] RankTrace rank_trace(int node, double ticks_per_second) const;
  /// Events of the trace that had no room.
  [[nodiscard]] std::int64_t dropped_count() const { return trace_->dropped_count(); }

 private:
  /// Called last of the observers of each outer iteration: events of the others belong to no phase.
  void after_outer_step(int /*number*/, const OuterStep& /*step*/) override { counters_->leave_out(); }
  void begin_trace();
  void begin_region();
  [[nodiscard]] RankTimes totals() const;

  MeasuredSolver solver_;
  comm::RankGroup& group_;
  RankTimes times_{};  // of the last region; of one under way, what was counted before it
  StepObserver* solve_observer_ = nullptr;
  bool is_traced_ = false;
  std::uint64_t start_clocks_ = 0;
  Stopwatch stopwatch_;
  NoiseMonitor noise_;
  std::optional<PhaseCounters> counters_;
  std::optional<PhaseTrace> trace_;
  std::optional<TraceBars> trace_bars_;
  ClockMark first_mark_;
  ClockMark last_mark_;
};

}  // namespace cg2d
