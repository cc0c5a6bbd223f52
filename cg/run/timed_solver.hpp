#pragma once

// The timed part of a benchmark run: the outer iterations, and their records.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cg/base/interrupt.hpp"
#include "cg/base/stopwatch.hpp"
#include "cg/run/run_options.hpp"
#include "cg/run/run_report.hpp"
#include "cg/solver/block_operator.hpp"
#include "cg/solver/block_product.hpp"
#include "cg/solver/solver.hpp"
#include "cg/timing/clock_alignment.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/timing/phase_timer.hpp"
#include "cg/timing/phase_trace.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

inline bool is_finite(const OuterStep& step) {
  return std::isfinite(step.zeta) && std::isfinite(step.residual_norm);
}

inline bool must_stop(const OuterStep& step) { return step.stop_asked || !is_finite(step); }

/// The solver, timer, counters and trace of timed repetitions, made once. Holds references: all must outlive
/// it.
class TimedSolver {
 public:
  TimedSolver(const RunOptions& options, comm::Communicator& communicator, BlockProduct& product,
              comm::RankGroup& group)
      : problem_(options.problem),
        communicator_(communicator),
        group_(group),
        timer_(options.time_phases, communicator),
        operator_(communicator, product, timer_, options.configuration.thread_count),
        solver_(operator_, communicator, timer_, options.configuration.thread_count) {
    if (!options.trace.path.empty()) trace_.emplace(options.trace.step_count, product.part_count());
  }

  [[nodiscard]] PhaseTimer& timer() { return timer_; }
  [[nodiscard]] const CurvatureSigns& curvature_signs() const { return solver_.curvature_signs(); }

  /// The untimed first step of the benchmark: touches every page and every path.
  OuterStep warm_up(const InterruptWatch& watch) {
    solver_.reset();
    return solver_.outer_step(problem_.shift, watch.asked());
  }

  /// All outer iterations from x = (1, ..., 1). Stops early on a request to stop or when numbers are no
  /// longer finite.
  template <typename AfterStep>
  std::vector<OuterStep> iterate(const InterruptWatch& watch, const AfterStep& after_step) {
    solver_.reset();
    timer_.reset();
    const bool is_traced = begin_trace();
    group_.barrier();
    const auto sent_before = all_sent();
    const auto waits_before = group_.waiter().wait_count();
    const auto dots_before = solver_.dot_work();
    const auto updates_before = solver_.update_work();
    if (counters_ != nullptr) counters_->begin_region();
    const Stopwatch stopwatch;
    const std::uint64_t start_clocks = read_cycle_counter();
    std::vector<OuterStep> steps;
    for (int k = 0; k < problem_.niter; ++k) {
      steps.push_back(solver_.outer_step(problem_.shift, watch.asked()));
      after_step(steps.size(), steps.back());
      if (counters_ != nullptr) counters_->leave_out();
      if (must_stop(steps.back())) break;
    }
    times_.region_clocks = read_cycle_counter() - start_clocks;
    times_.region_s = stopwatch.seconds();
    if (counters_ != nullptr) counters_->end_region();
    if (is_traced) end_trace();
    times_.phases = timer_.records();
    times_.wait_count = group_.waiter().wait_count() - waits_before;
    times_.dot_work = solver_.dot_work() - dots_before;
    times_.update_work = solver_.update_work() - updates_before;
    times_.sent = all_sent();
    for (std::size_t k = 0; k < sent_before.size(); ++k) {
      times_.sent[k].message_count -= sent_before[k].message_count;
      times_.sent[k].byte_count -= sent_before[k].byte_count;
    }
    return steps;
  }

  [[nodiscard]] const RankTimes& times() const { return times_; }
  [[nodiscard]] std::span<const TraceEvent> trace_events() const { return trace_->events(); }
  [[nodiscard]] const ClockMark& first_mark() const { return first_mark_; }
  [[nodiscard]] const ClockMark& last_mark() const { return last_mark_; }
  /// The counters must outlive this.
  void count_events(PhaseCounters& counters) {
    counters_ = &counters;
    timer_.attach(counters_);
  }
  [[nodiscard]] const RankCounts& counts() const { return counters_->counts(); }

 private:
  /// The first repetition is traced. Collective.
  bool begin_trace() {
    if (!trace_ || !trace_->events().empty()) return false;
    first_mark_ = take_clock_mark(group_);
    timer_.attach(&*trace_);
    return true;
  }
  void end_trace() {
    trace_->close();
    timer_.attach(static_cast<PhaseTrace*>(nullptr));
    last_mark_ = take_clock_mark(group_);
  }

  [[nodiscard]] std::array<comm::Traffic, comm::operation_count> all_sent() const {
    std::array<comm::Traffic, comm::operation_count> sent;
    for (std::size_t k = 0; k < sent.size(); ++k)
      sent[k] = communicator_.sent(static_cast<comm::Operation>(k));
    return sent;
  }

  const Problem& problem_;
  comm::Communicator& communicator_;
  comm::RankGroup& group_;
  PhaseTimer timer_;
  BlockOperator operator_;
  Solver solver_;
  RankTimes times_{};
  PhaseCounters* counters_ = nullptr;
  std::optional<PhaseTrace> trace_;
  ClockMark first_mark_;
  ClockMark last_mark_;
};

}  // namespace cg2d
