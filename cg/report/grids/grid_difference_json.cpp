#include "cg/report/grids/grid_difference_json.hpp"

namespace cg2d {
namespace {

/// Seconds of the source in microseconds.
template <typename Source>
Figure<Source> microseconds(std::string name, double Source::*member_s, std::string meaning = {}) {
  return {std::move(name), number_type(),
          [member_s](const auto& source) { return microseconds_per_s * source.*member_s; },
          std::move(meaning)};
}

const Record<PhaseDifference>& phase_difference_record() {
  static const Record<PhaseDifference> record{
      "phase_difference",
      {{"phase", or_null(name_type()),
        [](const auto& one) { return one.phase ? Json(phase_name(*one.phase)) : Json(nullptr); },
        "null: outside the phases, and that by which the slowest rank exceeds the mean."},
       microseconds("slower_us", &PhaseDifference::slower_s),
       microseconds("faster_us", &PhaseDifference::faster_s),
       microseconds("difference_us", &PhaseDifference::difference_s),
       {"is_sure", flag_type(), &PhaseDifference::is_sure, "Beyond the noise."},
       {"share", number_type(), &PhaseDifference::share, "Of the whole difference; all together are 1."},
       microseconds("waiting_us", &PhaseDifference::waiting_s,
                    "Difference of the waiting for other ranks, a part of difference_us."),
       {"messages", number_type(), &PhaseDifference::messages, "Difference of what a rank sends; exact."},
       {"bytes", number_type(), &PhaseDifference::bytes, "Difference of what a rank sends; exact."}}};
  return record;
}

const Record<EventDifference>& event_difference_record() {
  static const Record<EventDifference> record{
      "event_difference",
      {{"event", name_type(), &EventDifference::event},
       {"phase", name_type(), [](const auto& one) { return phase_name(one.phase); }},
       {"slower", seconds_type(), &EventDifference::slower, "Per CG step, mean over the ranks."},
       {"faster", seconds_type(), &EventDifference::faster},
       {"ratio", seconds_type(), &EventDifference::ratio}}};
  return record;
}

}  // namespace

const Record<GridDifference>& grid_difference_record() {
  static const Record<GridDifference> record{
      "difference",
      {{"slower", name_type(), [](const auto& difference) { return difference.slower.key(); }},
       {"faster", name_type(), [](const auto& difference) { return difference.faster.key(); }},
       {"is_sure", flag_type(), &GridDifference::is_sure},
       microseconds("difference_us", &GridDifference::difference_s),
       {"text", text_type(), difference_words, "For people."},
       list_figure<GridDifference>("phases", phase_difference_record(), &GridDifference::phases),
       list_figure<GridDifference>("events", event_difference_record(), &GridDifference::events)},
      "Why one grid is slower than another. Times are of a CG step, means over the ranks and over the middle "
      "half of the rounds by the difference of the whole step, so that the parts add up."};
  return record;
}

Json row_differences_json(const GridVerdict& row, const std::vector<ResultRecord>& records) {
  return json_of_all(grid_difference_record(), differences_from_best(row, records));
}

}  // namespace cg2d
