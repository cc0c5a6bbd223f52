#pragma once

// The list of `cg2d events`: what can be counted on this machine, by purpose and by origin.

#include <optional>
#include <string>
#include <vector>

#include "cg/timing/events.hpp"

namespace cg2d {

struct EventList {
  std::optional<std::string> papi_version;  ///< empty: cg2d was built without it
  std::string remedy;  ///< that would make more events of the processor countable, and what is in its way
  std::vector<KnownEvent> events;
  std::vector<ResolvedEvents> groups;  ///< events of each group here, in the order of their table
};
/// Tries every event. Local. Cost: as known_events(). Throws RunError.
EventList list_events();

class Members;
void describe(Members& m, EventList& list);

inline const std::vector<std::string> event_list_formats{"text", "json"};
/// The list in one of these formats. shows_all: as text, also events that cannot be counted here, with the
/// reason; JSON has them always.
std::string write_event_list(const EventList& list, const std::string& format, bool shows_all);

}  // namespace cg2d
