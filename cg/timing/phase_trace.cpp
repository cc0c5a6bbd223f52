#include "cg/timing/phase_trace.hpp"

namespace cg2d {
namespace {

/// Unsigned clocks apart, as a signed number.
double clocks_between(uint64_t from, uint64_t to) {
  return static_cast<double>(static_cast<int64_t>(to - from));
}

}  // namespace

ClockMark mark_from(std::span<const RoundTrip> trips) {
  const auto length = [](const RoundTrip& trip) { return trip.received - trip.sent; };
  const auto& best = *std::ranges::min_element(trips, {}, length);
  return {.local_clocks = best.sent + length(best) / 2,
          .reference_clocks = best.answered,
          .uncertainty_clocks = static_cast<double>(length(best)) / 2.0};
}

ClockMark take_clock_mark(comm::RankGroup& group) {
  constexpr int trip_count = 20;
  if (group.rank() == 0) {
    for (int rank = 1; rank < group.size(); ++rank) {
      group.send_word(0, rank);  // it is this rank's turn
      for (int trip = 0; trip < trip_count; ++trip) {
        static_cast<void>(group.receive_word(rank));
        group.send_word(read_cycle_counter(), rank);
      }
    }
    const auto now = read_cycle_counter();
    return {.local_clocks = now, .reference_clocks = now, .uncertainty_clocks = 0.0};
  }
  std::vector<RoundTrip> trips(trip_count);
  static_cast<void>(group.receive_word(0));
  for (auto& trip : trips) {
    trip.sent = read_cycle_counter();
    group.send_word(0, 0);
    trip.answered = group.receive_word(0);
    trip.received = read_cycle_counter();
  }
  return mark_from(trips);
}

ClockMap::ClockMap(const ClockMark& first, const ClockMark& last)
    : first_(first), uncertainty_clocks_(std::max(first.uncertainty_clocks, last.uncertainty_clocks)) {
  const double local = clocks_between(first.local_clocks, last.local_clocks);
  const double reference = clocks_between(first.reference_clocks, last.reference_clocks);
  if (local > 0.0 && reference > 0.0) rate_ = reference / local;
}

double ClockMap::reference_clocks_since(uint64_t origin, uint64_t local_clocks) const {
  return clocks_between(origin, first_.reference_clocks) +
         rate_ * clocks_between(first_.local_clocks, local_clocks);
}

PhaseTrace::PhaseTrace(int step_count) : step_count_(step_count) {
  // A step of the benchmark has 15 events, of which reproducible sums make five, and two more for each part of a product after the first.
  constexpr size_t events_per_step = 32;
  events_.reserve(static_cast<size_t>(step_count) * events_per_step);
}

void PhaseTrace::begin(int32_t kind) {
  (kind == TraceEvent::cg_step ? step_begin_ : outer_begin_) = read_cycle_counter();
}

void PhaseTrace::end(int32_t kind) {
  if (!is_recording_) return;
  const auto now = read_cycle_counter();
  if (kind == TraceEvent::outer_iteration) {
    add({.begin = outer_begin_, .end = now, .kind = kind, .number = outer_++});
    return;
  }
  add({.begin = step_begin_, .end = now, .kind = kind, .number = step_++});
  if (step_ < step_count_) return;
  // The outer iteration goes on; its bar ends after all that it contains. Not at the same time: readers add
  // begin and length as floating-point numbers, and the order of equal ends would be left to the rounding.
  end(TraceEvent::outer_iteration);
  close();
}

}  // namespace cg2d
