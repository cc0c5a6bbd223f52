#include "cg/run/region_measurement.hpp"

#include "cg/base/sample.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {

/// Removes its observer at the end, also if a region has thrown.
RegionMeasurement::~RegionMeasurement() {
  if (counters_) solver_.timer.detach(*counters_);
  if (trace_ == nullptr) return;
  solver_.timer.detach(*trace_);
  solver_.observers.remove(*trace_bars_);
}

std::vector<OuterStep> RegionMeasurement::around(
    Observers observers, const std::function<std::vector<OuterStep>(Observers)>& region) {
  const bool is_traced = begin_trace();
  // The trace's bars enclose no other observer's work; the counters leave all of it out.
  std::vector<OuterStepObserver*> all_observers;
  if (is_traced) all_observers.push_back(&*trace_bars_);
  all_observers.insert(all_observers.end(), observers.begin(), observers.end());
  if (counters_) all_observers.push_back(this);
  std::vector<OuterStep> steps;
  measure([&] { steps = region(all_observers); });
  if (is_traced) end_trace();
  return steps;
}

void RegionMeasurement::around_solve(StepObserver& observer, const std::function<void()>& solve) {
  const bool is_traced = begin_trace();
  solver_.observers.add(observer);
  measure([&] {
    if (is_traced) trace_bars_->before_outer_step();
    solve();
    if (is_traced) trace_bars_->after_outer_step(1, {});
  });
  solver_.observers.remove(observer);
  if (is_traced) end_trace();
}

void RegionMeasurement::outside_of_phases(const std::function<void()>& work) {
  if (!counters_) return work();
  counters_->read_now();
  work();
  counters_->leave_out();
}

void RegionMeasurement::measure(const std::function<void()>& region) {
  solver_.timer.reset();
  noise_.begin();
  group_.barrier();
  const auto before = totals();
  if (counters_) counters_->begin_region();
  const Stopwatch stopwatch;
  const std::uint64_t start_clocks = read_cycle_counter();
  region();
  times_.region_clocks = read_cycle_counter() - start_clocks;
  times_.region_s = stopwatch.seconds();
  if (counters_) counters_->end_region();
  noise_.end();
  const auto now = totals();
  times_.phases = solver_.timer.records();
  times_.wait_count = now.wait_count - before.wait_count;
  times_.dot_work = now.dot_work - before.dot_work;
  times_.update_work = now.update_work - before.update_work;
  for (std::size_t k = 0; k < now.sent.size(); ++k) {
    times_.sent[k] = {.message_count = now.sent[k].message_count - before.sent[k].message_count,
                      .byte_count = now.sent[k].byte_count - before.sent[k].byte_count};
  }
}

RepeatReport RegionMeasurement::repeat() {
  RepeatReport repeat;
  repeat.time_s = group_.maximum(times_.region_s);
  repeat.ranks = group_.gather_one(times_);
  if (counters_) repeat.counts = group_.gather_one(counters_->counts());
  repeat.quiet = noise_.result();
  return repeat;
}

RankTrace RegionMeasurement::rank_trace(int node, double ticks_per_second) const {
  return {.events = trace_->events(),
          .clocks = ClockMap(first_mark_, last_mark_),
          .origin_clocks = group_.gather_one(first_mark_).front().reference_clocks,
          .ticks_per_second = ticks_per_second,
          .rank = group_.rank(),
          .node = node};
}

/// Counts that only grow; no times.
RankTimes RegionMeasurement::totals() const {
  RankTimes now{};
  now.wait_count = group_.waiter().wait_count();
  now.dot_work = solver_.vectors.dot_work();
  now.update_work = solver_.vectors.update_work();
  for (std::size_t k = 0; k < now.sent.size(); ++k)
    now.sent[k] = solver_.sent(static_cast<comm::Operation>(k));
  return now;
}

void RegionMeasurement::record_trace(PhaseTrace& trace) {
  trace_ = &trace;
  trace_bars_.emplace(trace);
}

/// The first region is traced; true if this is the one. Collective.
bool RegionMeasurement::begin_trace() {
  if (trace_ == nullptr || !trace_->events().empty()) return false;
  first_mark_ = take_clock_mark(group_);
  solver_.timer.attach(*trace_);
  solver_.observers.add(*trace_bars_);
  return true;
}

void RegionMeasurement::end_trace() {
  trace_->close();
  solver_.timer.detach(*trace_);
  solver_.observers.remove(*trace_bars_);
  last_mark_ = take_clock_mark(group_);
}

}  // namespace cg2d
