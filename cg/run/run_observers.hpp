#pragma once

// The observers of a run's steps: progress, interrupts, bars of the trace, and pauses of the counters.

#include <fmt/format.h>

#include <cstdint>

#include "cg/base/interrupt.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/sample.hpp"
#include "cg/solver/outer_iteration.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/timing/phase_trace.hpp"

namespace cg2d {

/// The place of a repetition in a run.
struct RepeatPlace {
  int number = 1;
  int count = 1;
  int outer_step_count = 1;  ///< of each
  int earlier_count = 0;     ///< of them, before a restart
};

/// Says the figures of each outer iteration, and how long all that are left may take. As an observer of CG steps, which
/// long ones are worth, it only shows the time going on.
class ProgressLines final : public OuterStepObserver, public StepObserver {
 public:
  ProgressLines(const Progress& progress, const RepeatPlace& place) : progress_(progress), place_(place) {}

  void after_outer_step(int number, const OuterStep& step) override {
    progress_.tick([&] {
      const auto count = static_cast<double>(place_.count - place_.number + 1) * place_.outer_step_count;
      progress_.expect(stopwatch_.seconds() / (number - place_.earlier_count) * (count - number));
      return fmt::format("run {}, outer iteration {}/{}: zeta {:.13f}, residual {:.3e}", place_.number,
                         number, place_.outer_step_count, step.zeta, step.residual_norm);
    });
  }
  bool after_step(const CgState& /*state*/) override {
    progress_.show_time();
    return false;
  }

 private:
  const Progress& progress_;
  RepeatPlace place_;
  Stopwatch stopwatch_;
};

/// Requests to stop when a signal has asked for it.
class InterruptRequests final : public OuterStepObserver {
 public:
  explicit InterruptRequests(const InterruptWatch& watch) : watch_(watch) {}

  [[nodiscard]] bool asks_to_stop() override { return watch_.asked(); }

 private:
  const InterruptWatch& watch_;
};

/// Draws the bars of CG steps and outer iterations into a trace.
class TraceBars final : public StepObserver, public OuterStepObserver {
 public:
  explicit TraceBars(PhaseTrace& trace) : trace_(trace) {}

  void before_step() override { step_begin_ = trace_.begin(TraceLevel::cg_step); }
  bool after_step(const CgState& /*state*/) override {
    trace_.end(TraceLevel::cg_step, step_begin_);
    return false;
  }
  void before_outer_step() override { outer_begin_ = trace_.begin(TraceLevel::outer_iteration); }
  void after_outer_step(int /*number*/, const OuterStep& /*step*/) override { end_outer_step(); }
  void end_outer_step() { trace_.end(TraceLevel::outer_iteration, outer_begin_); }

 private:
  PhaseTrace& trace_;
  std::uint64_t step_begin_ = 0;
  std::uint64_t outer_begin_ = 0;
};

/// Keeps events of other observers out of the phases: the last observer of each outer iteration.
class CounterPause final : public OuterStepObserver {
 public:
  explicit CounterPause(PhaseCounters& counters) : counters_(counters) {}

  void after_outer_step(int /*number*/, const OuterStep& /*step*/) override { counters_.leave_out(); }

 private:
  PhaseCounters& counters_;
};

}  // namespace cg2d
