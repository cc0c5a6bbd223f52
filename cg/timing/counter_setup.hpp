#pragma once

// Sets up counters: from the options to a set of events that every rank counts.

#include <memory>
#include <string>
#include <vector>

#include "cg/timing/papi_counters.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The events that the user asked for.
struct CounterOptions {
  std::string events;        ///< --papi: names with commas between them; empty: those of PAPI_EVENTS, if any
  bool multiplexed = false;  ///< --papi-multiplex
  bool strict = false;       ///< --papi-strict
};

/// The events of the option, or of the environment's PAPI_EVENTS on rank 0. Collective. Throws InputError.
std::vector<std::string> wanted_events(const CounterOptions& options, comm::RankGroup& group);

struct CounterSetup {
  std::vector<std::string> asked;
  std::unique_ptr<PapiCounters> counters;  ///< null: nothing was asked for
  std::vector<RefusedEvent> refused;       ///< the same on every rank; the reason is the lowest rank's
};

/// Counts on every rank the events that all of them can count; null counters for no names. Collective. Throws
/// RunError (unavailable): PAPI does not start, or the options are strict and an event is refused.
CounterSetup set_up_counters(const std::vector<std::string>& names, const CounterOptions& options,
                             comm::RankGroup& group);

/// All refused events in one line.
std::string refusal_text(const std::vector<RefusedEvent>& refused);

}  // namespace cg2d
