#pragma once

// Names and kinds of events, whoever counts them.

#include <array>
#include <cstddef>

#include "cg/base/values.hpp"

namespace cg2d {

/// The most events of one run: more than processors count at a time.
inline constexpr std::size_t most_counted_events = 16;
/// One value per event, in the order of the events; values after the last event stay zero.
using CounterValues = std::array<std::int64_t, most_counted_events>;

/// The unit of an event's values.
enum class EventKind { core_cycles, reference_cycles, instructions, misses, nanoseconds, other };
/// For people and for JSON. Core cycles follow the core's frequency, reference cycles do not.
std::string_view event_kind_name(EventKind kind);
/// Kind of an event by its name; PAPI itself does not tell.
EventKind event_kind(std::string_view event_name);

/// Before the names of the kernel's events.
inline constexpr std::string_view perf_prefix = "perf::";

/// "perf::CYCLES:u=1" -> "perf::CYCLES" and ":u=1".
struct EventNameParts {
  std::string_view name;
  std::string_view masks;
};
EventNameParts parts_of(std::string_view event_name);

/// "A,B" -> A, B. Throws InputError (naming `origin`) for an empty name, one given twice, or too many.
std::vector<std::string> event_names_from(const std::string& text, std::string_view origin);

/// kernel.perf_event_paranoid: how much the kernel forbids its users to count; empty where it does not say.
std::optional<std::int64_t> perf_event_paranoid();

/// An event that cannot be counted here.
struct RefusedEvent {
  std::string name;
  std::string reason;  ///< with a remedy where there is one; one line
};
class Members;
void describe(Members& m, RefusedEvent& event);
/// All refused events in one line; those with the same reason share it.
std::string refusal_text(const std::vector<RefusedEvent>& refused);

/// Origin of an event.
enum class EventFamily { preset, generic, native, software };
/// For people and for JSON.
std::span<const NamedValue<EventFamily>> words_of(EventFamily family);

/// An event of a list, after a trial.
struct KnownEvent {
  std::string name;
  EventFamily family = EventFamily::preset;
  std::string description;
  std::string why_not;           ///< empty: it can be counted here
  std::int64_t trial_count = 0;  ///< in a trial that raises most events
  /// It can be counted, but whether it ever counts is not known: the trial did not raise it.
  [[nodiscard]] bool is_unproven() const { return why_not.empty() && trial_count == 0; }
};

}  // namespace cg2d
