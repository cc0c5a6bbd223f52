#include "cg/timing/phase_trace.hpp"

#include "cg/matrix/problem.hpp"

namespace cg2d {

PhaseTrace::PhaseTrace(int step_count, std::size_t product_parts)
    : step_count_(step_count),
      capacity_(static_cast<std::size_t>(step_count) *
                    (events_per_step + events_per_part * (product_parts - 1)) +
                (static_cast<std::size_t>(step_count) / cg_steps_per_solve + 2) *
                    (events_per_outer_iteration + events_per_part * (product_parts - 1))) {
  events_.reserve(capacity_);
}

std::uint64_t PhaseTrace::begin(TraceLevel level) {
  const auto now = read_cycle_counter();
  if (level == TraceLevel::outer_iteration) outer_begin_ = now;
  return now;
}

void PhaseTrace::end(TraceLevel level, std::uint64_t begin_clocks) {
  if (!is_recording_) return;
  const auto now = read_cycle_counter();
  if (level == TraceLevel::outer_iteration) {
    add({.begin = begin_clocks, .end = now, .kind = TraceEvent::outer_iteration, .number = outer_++});
    return;
  }
  add({.begin = begin_clocks, .end = now, .kind = TraceEvent::cg_step, .number = step_++});
  if (step_ < step_count_) return;
  // The outer iteration goes on; its bar ends after all that it contains. Not at the same time: readers add
  // begin and length as floating-point numbers, and the order of equal ends would be left to the rounding.
  add({.begin = outer_begin_,
       .end = read_cycle_counter(),
       .kind = TraceEvent::outer_iteration,
       .number = outer_});
  close();
}

void PhaseTrace::add(const TraceEvent& event) {
  if (events_.size() < capacity_) {
    events_.push_back(event);
  } else {
    ++dropped_count_;
  }
}

}  // namespace cg2d
