#pragma once

// All events of a run in one list: software events by the kernel, those of the processor by PAPI.

#include <memory>
#include <string>
#include <vector>

#include "cg/timing/events.hpp"
#include "cg/timing/papi.hpp"
#include "cg/timing/software_counters.hpp"

namespace cg2d {

/// Counts events of this process: of the calling thread, and of the threads that are made afterwards where
/// they can be inherited (counts_all_threads). Not thread-safe.
class EventCounters {
 public:
  /// Takes the events that can be counted, and keeps the reasons against the others. scope: of what comes from
  /// the system's account. Local. Throws RunError
  /// (unavailable) if there are events of the processor and PAPI itself does not start.
  EventCounters(const std::vector<std::string>& event_names, bool multiplexed, UsageScope scope);

  /// The events that are counted, in the order asked for.
  [[nodiscard]] const std::vector<std::string>& event_names() const { return event_names_; }
  [[nodiscard]] const std::vector<RefusedEvent>& refused() const { return refused_; }
  [[nodiscard]] UsageScope usage_scope() const { return usage_scope_; }
  /// Software events always are of all threads.
  [[nodiscard]] bool counts_all_threads() const { return !papi_ || papi_->counts_all_threads(); }

  /// The counts so far, from an arbitrary start. Cost: a system call per software event, and one for the
  /// others.
  void read(CounterValues& values) noexcept;

 private:
  UsageScope usage_scope_;
  std::unique_ptr<SoftwareCounters> software_;  ///< null: no event is theirs
  std::unique_ptr<PapiCounters> papi_;          ///< null: no event is theirs
  std::vector<std::string> event_names_;
  std::vector<RefusedEvent> refused_;
  /// Where the values of each belong in the common list.
  std::vector<std::size_t> software_places_;
  std::vector<std::size_t> papi_places_;
};

/// Why an event cannot be counted by itself, without multiplexing; empty: it can. Throws RunError as the
/// constructor above.
std::string why_not_counted(const std::string& event_name);

/// Every event that is known, each tried by counting. Local. Cost: as known_papi_events(). Throws RunError.
std::vector<KnownEvent> known_events();

/// Throws InputError for the first name that is no event at all, with the name that is most like it.
/// other_names: what else may stand in the list.
void require_known_events(const std::vector<std::string>& event_names, std::string_view origin,
                          const std::vector<std::string>& other_names);

}  // namespace cg2d
