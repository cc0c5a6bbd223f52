#pragma once

// PAPI itself: its start, and its state on this machine. PAPI counts the events of the processor; the kernel's
// software events are counted without it (software_events.hpp). The interfaces papi_*.hpp are implemented by the sources of the same
// names, and where cg2d is built without PAPI by without_papi.cpp.

#include <optional>
#include <string>

namespace cg2d {

inline constexpr int perf_component = 0;  ///< PAPI's first one, which counts the processor

/// Starts the library where it is not running yet. Throws RunError (unavailable).
void start_papi();
/// The reason why PAPI counts no event of the processor at all; empty: it does. After start_papi().
std::string why_papi_is_disabled();

/// A remedy that would make more of the processor's events countable here: a setting of the kernel, or a
/// machine that is not virtual. One line.
std::string counting_remedy();

/// The version of the library that runs, such as "7.0.0.0"; empty: cg2d was built without it.
std::optional<std::string> papi_version();

}  // namespace cg2d
