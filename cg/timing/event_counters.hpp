#pragma once

// All events of a run in one list: software events by the system's account and the kernel's counters, those of the processor by PAPI.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/storage/open_file.hpp"
#include "cg/timing/events.hpp"
#include "cg/timing/papi.hpp"

namespace cg2d {

/// Counts events of this process: software events of the calling thread or of the process, as the system's account has them; those of the
/// kernel's counters (what the account lacks) and of the processor of the calling thread, and of the threads that are made afterwards where
/// they can be inherited (counts_all_threads). Not thread-safe.
class EventCounters {
 public:
  /// Takes the events that can be counted, and keeps the reasons against the others: a counter of migrations that counts none in a trial,
  /// too. scope: of what comes from the system's account. Local. Throws RunError
  /// (unavailable) if there are events of the processor and PAPI itself does not start.
  EventCounters(const std::vector<std::string>& event_names, bool multiplexed, UsageScope scope);

  /// The events that are counted, in the order asked for.
  [[nodiscard]] const std::vector<std::string>& event_names() const { return event_names_; }
  [[nodiscard]] const std::vector<RefusedEvent>& refused() const { return refused_; }
  /// Software events always are of all threads.
  [[nodiscard]] bool counts_all_threads() const { return !papi_ || papi_->counts_all_threads(); }

  /// The counts so far, from an arbitrary start. Cost: 0.8 us for all that come from the account, 0.45 us for each of the kernel's counters
  /// (AMD EPYC of family 26, virtual, 2026-11), and PapiCounters::read().
  void read(CounterValues& values) const noexcept;

 private:
  /// The origin of one event's values.
  struct Source {
    std::string name;
    const SoftwareEvent* event = nullptr;  ///< null: PAPI's next one
    Descriptor counter{};                  ///< of a software event; not open: the system's account
  };

  /// Why not; empty: the software event is counted from now on.
  [[nodiscard]] std::string open(const std::string& event_name);
  /// usage: read where it is needed, unless it is there.
  [[nodiscard]] std::int64_t count_of(const Source& source, std::optional<SystemUsage>& usage) const noexcept;

  UsageScope usage_scope_;
  std::vector<Source> sources_;
  std::unique_ptr<PapiCounters> papi_;  ///< null: no event is its
  std::vector<std::string> event_names_;
  std::vector<RefusedEvent> refused_;
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
