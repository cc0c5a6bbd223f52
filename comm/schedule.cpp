#include "comm/schedule.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace cg2d::comm {
namespace {

bool is_power_of_two(int value) { return std::has_single_bit(static_cast<unsigned>(value)); }

int largest_power_of_two_within(int value) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(value)));
}

/// One message, unless it is empty.
Traffic traffic_of_elements(int64_t count) {
  if (count == 0) return {};
  return {.message_count = 1, .byte_count = count * static_cast<int64_t>(sizeof(double))};
}

Traffic traffic_of(const Schedule& schedule, const GroupPieces& pieces) {
  Traffic traffic;
  for (const auto& step : schedule.steps) {
    if (step.send_to != ScheduleStep::no_partner)
      traffic += traffic_of_elements(pieces.element_count(step.sent));
  }
  return traffic;
}

}  // namespace

Schedule all_gather_schedule(int group_size, int member) {
  Schedule schedule;
  for (int distance = 1; distance < group_size; distance *= 2) {
    ScheduleStep step;
    if (is_power_of_two(group_size)) {
      const int partner = member ^ distance;
      step.send_to = step.receive_from = partner;
      step.sent = {.first = member & ~(distance - 1), .count = distance};
      step.received = {.first = partner & ~(distance - 1), .count = distance};
    } else {
      // Before the step a member holds the `distance` pieces from its own on.
      const int count = std::min(distance, group_size - distance);
      step.send_to = (member - distance + group_size) % group_size;
      step.receive_from = (member + distance) % group_size;
      step.sent = {.first = member, .count = count};
      step.received = {.first = step.receive_from, .count = count};
    }
    schedule.steps.push_back(step);
  }
  return schedule;
}

Schedule reduce_scatter_schedule(int group_size, int member) {
  Schedule schedule = all_gather_schedule(group_size, member);
  std::reverse(schedule.steps.begin(), schedule.steps.end());
  for (auto& step : schedule.steps) {
    std::swap(step.send_to, step.receive_from);
    std::swap(step.sent, step.received);
    step.combine = Combine::add;
  }
  return schedule;
}

Schedule all_reduce_schedule(int group_size, int member) {
  Schedule schedule;
  const int core_size = largest_power_of_two_within(group_size);
  const PieceRun everything{.first = 0, .count = group_size};
  const bool folded_in = member >= core_size;
  const bool takes_one_in = member + core_size < group_size;
  const int fold_partner = folded_in ? member - core_size : member + core_size;
  const ScheduleStep give{.send_to = fold_partner, .sent = everything};
  if (folded_in) {
    schedule.steps = {give, {.receive_from = fold_partner, .received = everything}};
    return schedule;
  }
  if (takes_one_in)
    schedule.steps.push_back({.receive_from = fold_partner, .received = everything, .combine = Combine::add});
  for (int distance = 1; distance < core_size; distance *= 2) {
    ScheduleStep step;
    step.send_to = step.receive_from = member ^ distance;
    step.sent = step.received = everything;
    step.combine = Combine::add;
    schedule.steps.push_back(step);
  }
  if (takes_one_in) schedule.steps.push_back(give);
  return schedule;
}

double sum_as_all_reduce(std::span<double> numbers) {
  const auto core_size = std::bit_floor(numbers.size());
  for (auto k = core_size; k < numbers.size(); ++k) numbers[k - core_size] += numbers[k];
  for (size_t distance = 1; distance < core_size; distance *= 2) {
    for (size_t k = 0; k < core_size; k += 2 * distance) numbers[k] += numbers[k + distance];
  }
  return numbers.front();
}

GroupPieces::GroupPieces(const BlockLayout& layout, int first_piece, int group_size) {
  const auto origin = layout.piece(first_piece).begin;
  starts_.reserve(static_cast<size_t>(group_size) + 1);
  starts_.push_back(0);
  for (int k = 0; k < group_size; ++k) starts_.push_back(layout.piece(first_piece + k).end - origin);
}

GroupPieces GroupPieces::of_scalars(int group_size, int64_t count) {
  std::vector<int64_t> starts(static_cast<size_t>(group_size) + 1, count);
  starts.front() = 0;
  return {BlockLayout({.columns = group_size, .rows = 1}, std::move(starts)), 0, group_size};
}

IndexRange GroupPieces::piece(int member) const {
  const auto k = static_cast<size_t>(member);
  return {.begin = starts_.at(k), .end = starts_.at(k + 1)};
}

std::vector<IndexRange> GroupPieces::ranges(const PieceRun& run) const {
  std::vector<IndexRange> found;
  const int unwrapped_count = std::min(run.count, group_size() - run.first);
  const auto add = [&](int first, int count) {
    const auto begin = static_cast<size_t>(first);
    const IndexRange range{.begin = starts_.at(begin), .end = starts_.at(begin + static_cast<size_t>(count))};
    if (range.size() > 0) found.push_back(range);
  };
  add(run.first, unwrapped_count);
  add(0, run.count - unwrapped_count);
  return found;
}

int64_t GroupPieces::element_count(const PieceRun& run) const {
  int64_t count = 0;
  for (const auto& range : ranges(run)) count += range.size();
  return count;
}

GroupPieces block_pieces(const BlockLayout& layout, Line line, int rank) {
  const int size = layout.grid().line_size(line);
  return {layout, layout.grid().line_of(line, rank) * size, size};
}

Schedule collection_schedule(const BlockLayout& layout, int rank, Line over) {
  return all_gather_schedule(layout.grid().line_size(over), layout.grid().member_of(over, rank));
}

Schedule summation_schedule(const BlockLayout& layout, int rank, SumForm form, Line over) {
  const auto make = form == SumForm::whole_block ? all_reduce_schedule : reduce_scatter_schedule;
  return make(layout.grid().line_size(over), layout.grid().member_of(over, rank));
}

std::vector<std::vector<IndexRange>> collection_parts(const BlockLayout& layout, int rank) {
  const auto pieces = block_pieces(layout, Line::process_column, rank);
  std::vector<std::vector<IndexRange>> parts{
      pieces.ranges({.first = layout.grid().row_of(rank), .count = 1})};
  for (const auto& step : collection_schedule(layout, rank).steps)
    parts.push_back(pieces.ranges(step.received));
  return parts;
}

Traffic collection_traffic(const BlockLayout& layout, int rank, Line over) {
  return traffic_of(collection_schedule(layout, rank, over), block_pieces(layout, over, rank));
}

Traffic summation_traffic(const BlockLayout& layout, int rank, SumForm form, Line over) {
  return traffic_of(summation_schedule(layout, rank, form, over), block_pieces(layout, over, rank));
}

Traffic shuffle_traffic(const BlockLayout& layout, int rank) {
  if (layout.shuffle_destination(rank) == rank) return {};
  return traffic_of_elements(layout.piece(layout.row_piece_of(rank)).size());
}

Traffic mirrored_shuffle_traffic(const BlockLayout& layout, int rank) {
  if (layout.shuffle_source(rank) == rank) return {};
  return traffic_of_elements(layout.own_piece(rank).size());
}

Traffic dot_traffic(int rank_count, int rank, int value_count) {
  Traffic traffic;
  // Not by GroupPieces, which take as long as there are ranks: plans ask for each rank of up to a million.
  for (const auto& step : all_reduce_schedule(rank_count, rank).steps) {
    if (step.send_to != ScheduleStep::no_partner) traffic += traffic_of_elements(value_count);
  }
  return traffic;
}

}  // namespace cg2d::comm
