#include "cg/timing/event_counters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/timing/papi.hpp"

namespace cg2d {
namespace {

/// The places in `names` of the names in `part`.
std::vector<std::size_t> places_of(const std::vector<std::string>& part,
                                   const std::vector<std::string>& names) {
  std::vector<std::size_t> places;
  places.reserve(part.size());
  for (const auto& name : part)
    places.push_back(static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin()));
  return places;
}

}  // namespace

EventCounters::EventCounters(const std::vector<std::string>& event_names, bool multiplexed, UsageScope scope)
    : usage_scope_(scope) {
  std::vector<std::string> software_names;
  std::vector<std::string> papi_names;
  for (const auto& name : event_names)
    (find_software_event(name) != nullptr ? software_names : papi_names).push_back(name);
  std::vector<std::string> counted;
  const auto take = [&](const auto& counters) {
    counted.insert(counted.end(), counters.event_names().begin(), counters.event_names().end());
    refused_.insert(refused_.end(), counters.refused().begin(), counters.refused().end());
  };
  if (!software_names.empty()) take(*(software_ = std::make_unique<SoftwareCounters>(software_names, scope)));
  if (!papi_names.empty()) take(*(papi_ = std::make_unique<PapiCounters>(papi_names, multiplexed)));
  for (const auto& name : event_names) {
    if (std::ranges::count(counted, name) > 0) event_names_.push_back(name);
  }
  if (software_) software_places_ = places_of(software_->event_names(), event_names_);
  if (papi_) papi_places_ = places_of(papi_->event_names(), event_names_);
}

void EventCounters::read(CounterValues& values) noexcept {
  CounterValues part{};
  const auto take = [&](auto& counters, const std::vector<std::size_t>& places) {
    if (places.empty()) return;
    counters->read(part);
    for (std::size_t k = 0; k < places.size(); ++k) values[places[k]] = part[k];
  };
  take(software_, software_places_);
  take(papi_, papi_places_);
}

std::string why_not_counted(const std::string& event_name) {
  const EventCounters counters({event_name}, false, UsageScope::thread);
  return counters.refused().empty() ? std::string() : counters.refused().front().reason;
}

std::vector<KnownEvent> known_events() {
  auto events = known_papi_events();
  std::vector<std::string> names;
  for (const auto& row : software_event_table()) names.push_back(full_name(row));
  const SoftwareCounters counters(names, UsageScope::thread);
  const auto& counted = counters.event_names();
  for (const auto& row : software_event_table()) {
    KnownEvent event{
        .name = full_name(row), .family = EventFamily::software, .description = std::string(row.description)};
    const auto place = std::ranges::find(counted, event.name);
    if (place != counted.end()) {
      event.trial_count = counters.trial_counts()[static_cast<std::size_t>(place - counted.begin())];
    } else {
      event.why_not = std::ranges::find(counters.refused(), event.name, &RefusedEvent::name)->reason;
    }
    events.push_back(std::move(event));
  }
  return events;
}

void require_known_events(const std::vector<std::string>& event_names, std::string_view origin,
                          const std::vector<std::string>& other_names) {
  for (const auto& name : event_names) {
    if (std::ranges::count(other_names, name) > 0 || find_software_event(name) != nullptr || papi_knows(name))
      continue;
    auto names = papi_event_names();
    // PAPI lists events that need a mask, but does not know them without one; it will say so.
    const auto is_listed = [&](const std::string& known) {
      return known == name || known.ends_with("::" + name);
    };
    if (std::any_of(names.begin(), names.end(), is_listed)) continue;
    names.insert(names.end(), other_names.begin(), other_names.end());
    for (const auto& row : software_event_table()) names.push_back(full_name(row));
    const auto nearest = nearest_name(name, names);
    throw InputError("{}: {} is no event{}; cg2d events --all lists all", origin, name,
                     nearest.empty() ? "" : fmt::format(": did you mean {}?", nearest));
  }
}

}  // namespace cg2d
