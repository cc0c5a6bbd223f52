#include "cg/report/grids/grid_difference_json.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "cg/base/json_values.hpp"

namespace cg2d {
namespace {

Json phase_json(const PhaseDifference& phase) {
  return {{"phase", phase.phase ? Json(phase_name(*phase.phase)) : Json(nullptr)},
          {"slower_us", microseconds_per_s * phase.slower_s},
          {"faster_us", microseconds_per_s * phase.faster_s},
          {"difference_us", microseconds_per_s * phase.difference_s},
          {"is_sure", phase.is_sure()},
          {"share", phase.share},
          {"waiting_us", microseconds_per_s * phase.waiting_s},
          {"messages", phase.messages},
          {"bytes", phase.bytes}};
}

Json event_json(const EventDifference& event) {
  return {{"event", event.event},
          {"phase", phase_name(event.phase)},
          {"slower", event.slower},
          {"faster", event.faster},
          {"ratio", event.ratio()}};
}

}  // namespace

Json difference_json(const GridDifference& difference) {
  Json phases = Json::array();
  for (const auto& phase : difference.phases) phases.push_back(phase_json(phase));
  Json events = Json::array();
  for (const auto& event : difference.events) events.push_back(event_json(event));
  return {
      {"slower", difference.slower.key()},    {"faster", difference.faster.key()},
      {"is_sure", difference.is_sure()},      {"difference_us", microseconds_per_s * difference.difference_s},
      {"text", difference_words(difference)}, {"phases", std::move(phases)},
      {"events", std::move(events)}};
}

Json row_differences_json(const GridVerdict& row, const std::vector<ResultRecord>& records) {
  Json json = Json::array();
  for (const auto& difference : differences_from_best(row, records))
    json.push_back(difference_json(difference));
  return json;
}

}  // namespace cg2d
