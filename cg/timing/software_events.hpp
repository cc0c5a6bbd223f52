#pragma once

// The kernel's software events: switches, migrations, faults, clocks; and the system's own account of them.
// Counted without PAPI, which cannot do it right: its event sets count in user mode only, where switches and
// migrations never happen, and it counts nothing at all on a processor that its library does not know.
// Measured (AMD EPYC of family 26, virtual, Linux 6.18, 2026-11): 105 naps gave 105 switches with the kernel's
// mode and 0 without; of 67 page faults 64 without. The kernel's event of the task clock leaves out the
// switching itself, 7 us each time there, and so is 10 % short for a rank that waits: the clock of processor
// time takes its place.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cg/base/system_usage.hpp"
#include "cg/timing/events.hpp"

namespace cg2d {

/// Reads the figure of an event from the account; nothing where the account has none.
using UsageFigure = std::optional<std::int64_t> (*)(const SystemUsage&);

struct SoftwareEvent {
  std::string_view name;     ///< as PAPI has it, without "perf::"
  std::string_view aliases;  ///< other names for it in PAPI, with spaces between them
  std::uint64_t number;      ///< perf_event_open(2): PERF_COUNT_SW_...
  std::string_view description;
  UsageFigure in_usage;
  bool is_clock;               ///< read from the system's account, in nanoseconds
  std::string_view why_never;  ///< empty: it can happen here
};
std::span<const SoftwareEvent> software_event_table();
/// The row of that name, with or without "perf::", masks aside; upper or lower case. Null: there is none.
const SoftwareEvent* find_software_event(std::string_view event_name);
/// The row's name with "perf::".
std::string full_name(const SoftwareEvent& event);

/// The account's figure for an event of any name; nothing where it has none.
std::optional<std::int64_t> usage_of(std::string_view event_name, const SystemUsage& usage);
/// Whether a count agrees with the account, within 2 % and a few events that happen between the readings.
bool agrees_with_usage(std::int64_t counted, std::int64_t account, EventKind kind);

}  // namespace cg2d
