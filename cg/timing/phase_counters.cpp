#include "cg/timing/phase_counters.hpp"

#include <algorithm>
#include <limits>

#include "cg/timing/cycle_counter.hpp"

namespace cg2d {

void PhaseCounters::begin_region() {
  counts_ = {};
  counters_.read(first_);
  last_ = first_;
}

void PhaseCounters::leave_out() {
  counters_.read(last_);
  ++counts_.reading_count;
}

void PhaseCounters::end_region() {
  counters_.read(last_);
  for (std::size_t event = 0; event < last_.size(); ++event)
    counts_.region[event] = last_[event] - first_[event];
}

void PhaseCounters::add_since_last(CounterValues& sums) {
  CounterValues now{};
  counters_.read(now);
  const auto event_count = counters_.event_names().size();
  for (std::size_t event = 0; event < event_count; ++event) sums[event] += now[event] - last_[event];
  last_ = now;
}

double PhaseCounters::measure_clocks_per_reading() {
  constexpr int batch_count = 8;
  constexpr int readings_per_batch = 50;
  CounterValues values{};
  double best = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < batch_count; ++batch) {
    const std::uint64_t begin = read_cycle_counter();
    for (int k = 0; k < readings_per_batch; ++k) counters_.read(values);
    best = std::min(best, static_cast<double>(read_cycle_counter() - begin) / readings_per_batch);
  }
  return best;
}

}  // namespace cg2d
