#include <utility>

#include "cg/run/session.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {

RegionMeasurement::RegionMeasurement(MeasuredSolver solver, comm::RankGroup& group,
                                     const Environment& environment, EventCounters* counters,
                                     int traced_steps)
    : solver_(std::move(solver)), group_(group), noise_(group, environment) {
  if (counters != nullptr) solver_.timer.attach(counters_.emplace(*counters));
  if (traced_steps > 0) trace_bars_.emplace(trace_.emplace(traced_steps));
}

std::vector<OuterStepObserver*> RegionMeasurement::begin(std::vector<OuterStepObserver*> observers) {
  is_traced_ = trace_ && trace_->events().empty();  // the first region
  if (is_traced_) {
    first_mark_ = take_clock_mark(group_);
    solver_.timer.attach(*trace_);
    solver_.observers.add(*trace_bars_);
    // The trace's bars enclose no other observer's work; the counters leave all of it out.
    observers.insert(observers.begin(), &*trace_bars_);
  }
  if (counters_) observers.push_back(this);
  solver_.timer.reset();
  noise_.begin();
  group_.barrier();
  times_ = totals();
  if (counters_) counters_->begin_region();
  stopwatch_ = {};
  start_clocks_ = read_cycle_counter();
  return observers;
}

void RegionMeasurement::outside_of_phases(const std::function<void()>& work) {
  work();
  if (counters_) counters_->leave_out();
}

void RegionMeasurement::end() {
  const uint64_t region_clocks = read_cycle_counter() - start_clocks_;
  const double region_s = stopwatch_.seconds();
  if (counters_) counters_->end_region();
  noise_.end();
  const auto before = std::exchange(times_, totals());
  times_.region_clocks = region_clocks;
  times_.region_s = region_s;
  times_.phases = solver_.timer.records();
  times_.wait_count -= before.wait_count;
  times_.dot_work = times_.dot_work - before.dot_work;
  times_.update_work = times_.update_work - before.update_work;
  for (size_t k = 0; k < before.sent.size(); ++k) {
    times_.sent[k].message_count -= before.sent[k].message_count;
    times_.sent[k].byte_count -= before.sent[k].byte_count;
  }
  if (!is_traced_) return;
  trace_->close();
  solver_.timer.detach(*trace_);
  solver_.observers.remove(*trace_bars_);
  last_mark_ = take_clock_mark(group_);
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
  for (size_t k = 0; k < now.sent.size(); ++k) now.sent[k] = solver_.sent(static_cast<comm::Operation>(k));
  return now;
}

}  // namespace cg2d
