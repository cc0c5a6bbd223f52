#pragma once

// The kernel's software events: switches, migrations, faults, clocks. Those that the system's own account of a thread or process has come
// from it; the others, and user or kernel mode alone, from the kernel's counters.
// Counted without PAPI, which cannot do it right: its event sets count in user mode only, where switches and
// migrations never happen, and it counts nothing at all on a processor that its library does not know.
// Measured (AMD EPYC of family 26, virtual, Linux 6.18, 2026-11): kernel's counters and account agree within 2 %: 105 naps gave 105 switches.
// But the kernel's event of the task clock leaves out the switching itself, 7 us each time there, and so is 10 % short for a rank that waits.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cg/base/system_files.hpp"
#include "cg/timing/events.hpp"

namespace cg2d {

struct SoftwareEvent {
  std::string_view name;     ///< as PAPI has it, without "perf::"
  std::string_view aliases;  ///< other names for it in PAPI, with spaces between them
  std::uint64_t number;      ///< perf_event_open(2): PERF_COUNT_SW_...
  std::string_view description;
  std::int64_t SystemUsage::*account = nullptr;  ///< its figure there; null: there is none
  bool happens_here = true;
};
std::span<const SoftwareEvent> software_event_table();
/// The row of that name, with or without "perf::", masks aside; upper or lower case. Null: there is none.
const SoftwareEvent* find_software_event(std::string_view event_name);
/// The row's name with "perf::".
std::string full_name(const SoftwareEvent& event);

}  // namespace cg2d
