#pragma once

// Events by purpose: groups of roles, and for each role the events that can play it, best first.

#include <functional>

#include "cg/timing/events.hpp"

namespace cg2d {

/// The purpose of an event. Figures are made of roles, whatever the events are called on a processor.
enum class EventRole {
  cycles,
  instructions,
  stalled_cycles,
  flops,
  level1_misses,
  level2_misses,
  level3_misses,
  memory_lines,
  tlb_misses,
  branches,
  mispredictions,
  switches,
  migrations,
  page_faults,
  processor_time,
};

struct MetricRole {
  EventRole role;
  std::string_view description;
  std::vector<std::string_view> candidates;  ///< in order of preference
};
/// In the order of the roles.
std::span<const MetricRole> role_table();

struct GroupRow {
  std::string_view name;
  std::string_view description;
  std::vector<EventRole> roles;
};
std::span<const GroupRow> group_table();
std::vector<std::string> group_names();

/// The event that plays a role among those counted; its index, of the first candidate that is there.
std::optional<std::size_t> find_role(EventRole role, const std::vector<std::string>& event_names);

/// Events for a list of events and groups.
struct ResolvedEvents {
  std::vector<std::string> names;     ///< each once
  std::vector<RefusedEvent> refused;  ///< "group: role" that nothing can play, with the reason
};
void describe(Members& m, ResolvedEvents& resolved);
/// Why an event cannot be counted; empty: it can.
using WhyNot = std::function<std::string(const std::string& event_name)>;
/// Puts the first countable event of each role in the place of a group; other names stay as they are. A pure
/// function of why_not, which is asked for candidates only.
ResolvedEvents resolve_groups(const std::vector<std::string>& events_and_groups, const WhyNot& why_not);

}  // namespace cg2d
