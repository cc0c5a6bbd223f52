#pragma once

// The events that PAPI knows, listed and tried.

#include <string>
#include <string_view>
#include <vector>

#include "cg/timing/events.hpp"

namespace cg2d {

/// Cycles and instructions happen in whatever a program does.
bool always_happens(std::string_view event_name);
/// Raises most events of a processor: misses of caches, TLBs and branches, and arithmetic. About 0.3 ms.
void work_on_everything();
/// The reason against an event that always happens, and was not counted during that work.
inline constexpr std::string_view papi_stands_still =
    "it counts nothing: 0 while the processor worked; its host or its driver does not pass the counter on";

/// Whether PAPI has an event of that name, counted here or not. Throws RunError (unavailable) if PAPI itself
/// does not start, and for a name of its kind where cg2d is built without it.
bool papi_knows(const std::string& event_name);

/// Names of PAPI's presets, the kernel's generic events and the processor's own, without a trial.
std::vector<std::string> papi_event_names();
/// The events of papi_event_names(), each tried by counting. Local. Cost: well under a second, some seconds
/// on processors with thousands of events. Throws RunError (unavailable) if PAPI itself does not start.
/// thousands of events. Throws RunError (unavailable) if PAPI itself does not start.
std::vector<KnownEvent> known_papi_events();

}  // namespace cg2d
