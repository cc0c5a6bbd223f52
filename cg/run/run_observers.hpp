#pragma once

// The observers of a run's steps: progress, interrupts, bars of the trace, and pauses of the counters.

#include <fmt/format.h>

#include <cstdint>

#include "cg/base/interrupt.hpp"
#include "cg/base/progress.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/timing/phase_trace.hpp"

namespace cg2d {

/// Says the figures of each outer iteration.
class ProgressLines final : public OuterStepObserver {
 public:
  ProgressLines(const Progress& progress, int repeat_number, int outer_step_count)
      : progress_(progress), repeat_number_(repeat_number), outer_step_count_(outer_step_count) {}

  void after_outer_step(int number, const OuterStep& step) override {
    progress_.say(fmt::format("run {}, outer iteration {}/{}: zeta {:.13f}, residual {:.3e}", repeat_number_,
                              number, outer_step_count_, step.zeta, step.residual_norm));
  }

 private:
  const Progress& progress_;
  int repeat_number_;
  int outer_step_count_;
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
