#pragma once

// PAPI, which counts the events of the processor: its state on this machine, the events that it knows, and counters. The one place that
// knows that library. The kernel's software events are counted without it (event_counters.hpp). Where cg2d is built without PAPI,
// without_papi.cpp implements this interface.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/timing/events.hpp"

namespace cg2d {

/// A remedy that would make more of the processor's events countable here: a setting of the kernel, or a
/// machine that is not virtual; before it why PAPI counts none at all, where that is so. One line. Once one of the functions below has
/// started PAPI.
std::string counting_remedy();

/// The version of the library that runs, such as "7.0.0.0"; empty: cg2d was built without it.
std::optional<std::string> papi_version();

/// Whether PAPI has an event of that name, counted here or not. Throws RunError (unavailable) if PAPI itself
/// does not start, and for a name of its kind where cg2d is built without it.
bool papi_knows(const std::string& event_name);

/// Names of PAPI's presets, the kernel's generic events and the processor's own, without a trial.
std::vector<std::string> papi_event_names();
/// The events of papi_event_names(), each tried by counting. Local. Cost: well under a second, some seconds
/// on processors with thousands of events. Throws RunError (unavailable) if PAPI itself does not start.
std::vector<KnownEvent> known_papi_events();

/// One set of events of this process, in user mode. Counts the calling thread, and the threads that are made
/// after the set where PAPI can inherit (counts_all_threads). Not thread-safe.
class PapiCounters {
 public:
  /// Takes the events that can be counted, and keeps the reasons against the others: PAPI's own, or that an
  /// event of cycles or instructions stands still while the processor works. Local. Throws RunError
  /// (unavailable) if PAPI itself does not start.
  PapiCounters(const std::vector<std::string>& event_names, bool multiplexed);
  ~PapiCounters();
  PapiCounters(const PapiCounters&) = delete;
  PapiCounters& operator=(const PapiCounters&) = delete;

  [[nodiscard]] const std::vector<std::string>& event_names() const { return event_names_; }
  [[nodiscard]] const std::vector<RefusedEvent>& refused() const { return refused_; }
  [[nodiscard]] bool counts_all_threads() const { return inherits_; }

  /// The counts so far, from an arbitrary start. Cost: one system call where the processor's counters cannot
  /// be read directly, 1 us on a virtual machine of 2026.
  void read(CounterValues& values) noexcept;

 private:
  std::vector<std::string> event_names_;
  std::vector<RefusedEvent> refused_;
  [[maybe_unused]] int event_set_ = -1;  ///< PAPI_NULL; without PAPI there is none
  bool inherits_ = false;
};

}  // namespace cg2d
