#include "comm/all_reduce_order.hpp"

#include <algorithm>

namespace cg2d::comm {

AllReduceOrder::AllReduceOrder(int rank_count) : numbers_(static_cast<std::size_t>(rank_count)) {
  for (int rank = 0; rank < rank_count; ++rank) schedules_.push_back(all_reduce_schedule(rank_count, rank));
  result_ = place_after(0, schedules_.front().steps.size());
}

/// The place of the number that a rank holds after that many of its steps.
std::size_t AllReduceOrder::place_after(int rank, std::size_t step_count) {
  if (step_count == 0) return static_cast<std::size_t>(rank);
  const auto& steps = schedules_[static_cast<std::size_t>(rank)].steps;
  const auto& step = steps[step_count - 1];
  if (step.receive_from == ScheduleStep::no_partner) return place_after(rank, step_count - 1);
  const auto earlier =
      std::count_if(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(step_count) - 1,
                    [&](const auto& other) { return other.receive_from == step.receive_from; });
  const auto received = place_after(step.receive_from, step_of_message(step.receive_from, rank, earlier));
  if (step.combine == Combine::place) return received;
  return place_of_sum(place_after(rank, step_count - 1), received);
}

/// The step in which rank `from` sends rank `to` a message, after `earlier` others to it.
std::size_t AllReduceOrder::step_of_message(int from, int to, std::ptrdiff_t earlier) const {
  const auto& steps = schedules_[static_cast<std::size_t>(from)].steps;
  std::size_t k = 0;
  while (steps[k].send_to != to || earlier-- > 0) ++k;
  return k;
}

/// One place for both partners of a step: they make the same sum, since a + b = b + a.
std::size_t AllReduceOrder::place_of_sum(std::size_t left, std::size_t right) {
  const std::pair<std::size_t, std::size_t> addition = std::minmax(left, right);
  const auto found = std::ranges::find(additions_, addition);
  if (found != additions_.end())
    return schedules_.size() + static_cast<std::size_t>(found - additions_.begin());
  additions_.push_back(addition);
  numbers_.push_back(0.0);
  return numbers_.size() - 1;
}

}  // namespace cg2d::comm
