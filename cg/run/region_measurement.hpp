#pragma once

// The measurement of a timed region: clocks, phases, traffic, vector work, counted events and a trace, around
// any callable that runs outer iterations.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cg/base/stopwatch.hpp"
#include "cg/run/run_observers.hpp"
#include "cg/run/run_report.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/stepped_solver.hpp"
#include "cg/timing/clock_alignment.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/timing/phase_trace.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Measures regions in which one solver works, one after the other. Holds references: solver, communicator
/// and group must outlive it, and it must outlive the solver's last step.
class RegionMeasurement {
 public:
  RegionMeasurement(SteppedSolver& solver, const comm::Communicator& communicator, comm::RankGroup& group)
      : solver_(solver), communicator_(communicator), group_(group) {}
  ~RegionMeasurement() {
    if (counters_ != nullptr) solver_.timer().detach(*counters_);
  }
  RegionMeasurement(const RegionMeasurement&) = delete;
  RegionMeasurement& operator=(const RegionMeasurement&) = delete;
  RegionMeasurement(RegionMeasurement&&) = delete;
  RegionMeasurement& operator=(RegionMeasurement&&) = delete;

  /// Counts events of the phases from now on. The counters must outlive this.
  void count_events(PhaseCounters& counters) {
    counters_ = &counters;
    solver_.timer().attach(counters);
    counter_pause_.emplace(counters);
  }
  /// Traces so many CG steps of the first region. product_parts: as BlockProduct::part_count().
  void record_trace(int step_count, std::size_t product_parts) {
    trace_.emplace(step_count, product_parts);
    trace_bars_.emplace(*trace_);
  }

  /// region(observers) runs outer iterations, and tells the observers of each: those given here, between
  /// those of the measurement. Returns its steps. Collective: the ranks begin together.
  template <typename Region>
  std::vector<OuterStep> around(std::span<OuterStepObserver* const> observers, const Region& region) {
    solver_.timer().reset();
    const bool is_traced = begin_trace();
    const auto all_observers = with_own(observers, is_traced);
    group_.barrier();
    const Totals before = totals();
    if (counters_ != nullptr) counters_->begin_region();
    const Stopwatch stopwatch;
    const std::uint64_t start_clocks = read_cycle_counter();
    auto steps = region(std::span<OuterStepObserver* const>(all_observers));
    times_.region_clocks = read_cycle_counter() - start_clocks;
    times_.region_s = stopwatch.seconds();
    if (counters_ != nullptr) counters_->end_region();
    if (is_traced) end_trace();
    note_growth_since(before);
    return steps;
  }

  /// Of the last region.
  [[nodiscard]] const RankTimes& times() const { return times_; }
  [[nodiscard]] const RankCounts& counts() const { return counters_->counts(); }
  /// Of the first region; only with a trace.
  [[nodiscard]] std::span<const TraceEvent> trace_events() const { return trace_->events(); }
  [[nodiscard]] const ClockMark& first_mark() const { return first_mark_; }
  [[nodiscard]] const ClockMark& last_mark() const { return last_mark_; }

 private:
  using SentByOperation = std::array<comm::Traffic, comm::operation_count>;

  /// Counts that only grow.
  struct Totals {
    SentByOperation sent;
    std::uint64_t wait_count = 0;
    VectorWork dot_work;
    VectorWork update_work;
  };
  [[nodiscard]] Totals totals() const {
    Totals now{.sent = {},
               .wait_count = group_.waiter().wait_count(),
               .dot_work = solver_.iteration().dot_work(),
               .update_work = solver_.iteration().update_work()};
    for (std::size_t k = 0; k < now.sent.size(); ++k)
      now.sent[k] = communicator_.sent(static_cast<comm::Operation>(k));
    return now;
  }
  void note_growth_since(const Totals& before) {
    const Totals now = totals();
    times_.phases = solver_.timer().records();
    times_.wait_count = now.wait_count - before.wait_count;
    times_.dot_work = now.dot_work - before.dot_work;
    times_.update_work = now.update_work - before.update_work;
    for (std::size_t k = 0; k < now.sent.size(); ++k) {
      times_.sent[k] = {.message_count = now.sent[k].message_count - before.sent[k].message_count,
                        .byte_count = now.sent[k].byte_count - before.sent[k].byte_count};
    }
  }

  /// The trace's bars enclose no other observer's work; the counters leave all of it out.
  [[nodiscard]] std::vector<OuterStepObserver*> with_own(std::span<OuterStepObserver* const> observers,
                                                         bool is_traced) {
    std::vector<OuterStepObserver*> all;
    if (is_traced) all.push_back(&*trace_bars_);
    all.insert(all.end(), observers.begin(), observers.end());
    if (counter_pause_) all.push_back(&*counter_pause_);
    return all;
  }

  /// The first region is traced. Collective.
  bool begin_trace() {
    if (!trace_ || !trace_->events().empty()) return false;
    first_mark_ = take_clock_mark(group_);
    solver_.timer().attach(*trace_);
    solver_.iteration().conjugate_gradient().add(*trace_bars_);
    return true;
  }
  void end_trace() {
    trace_->close();
    solver_.timer().detach(*trace_);
    solver_.iteration().conjugate_gradient().remove(*trace_bars_);
    last_mark_ = take_clock_mark(group_);
  }

  SteppedSolver& solver_;
  const comm::Communicator& communicator_;
  comm::RankGroup& group_;
  RankTimes times_{};
  PhaseCounters* counters_ = nullptr;
  std::optional<CounterPause> counter_pause_;
  std::optional<PhaseTrace> trace_;
  std::optional<TraceBars> trace_bars_;
  ClockMark first_mark_;
  ClockMark last_mark_;
};

}  // namespace cg2d
