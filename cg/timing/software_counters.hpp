#pragma once

// Counters of software events, opened at the kernel and tried before they are used.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/system_usage.hpp"
#include "cg/timing/events.hpp"
#include "cg/timing/kernel_counters.hpp"
#include "cg/timing/software_events.hpp"

namespace cg2d {

/// Counts software events of the calling thread, and of the threads that it makes afterwards. Clocks, and what
/// the kernel does not let this user count, come from the system's account. Not thread-safe.
class SoftwareCounters {
 public:
  /// Opens the events, then raises some of each and compares with the system's account. An event that
  /// cannot be opened or that counts wrong is refused. The names must have rows. scope: of the account. Local.
  /// Cost: 3 ms.
  SoftwareCounters(const std::vector<std::string>& event_names, UsageScope scope);

  /// The events that are counted, in the order asked for.
  [[nodiscard]] const std::vector<std::string>& event_names() const { return event_names_; }
  [[nodiscard]] const std::vector<RefusedEvent>& refused() const { return refused_; }
  /// The counts of the trial at the beginning, in the order of event_names().
  [[nodiscard]] const std::vector<std::int64_t>& trial_counts() const { return trial_counts_; }

  /// The counts so far, one per event. Cost: one call of KernelCounters::read(), 0.4 us for clocks, and as much for
  /// other events that come from the account.
  void read(std::span<std::int64_t> values) const noexcept;

 private:
  void open(const std::string& event_name);
  void refuse_what_counts_wrong();
  void refuse(std::size_t event, const std::string& reason);

  /// The origin of one event's values.
  struct Source {
    const SoftwareEvent* event = nullptr;  ///< its row
    std::optional<std::size_t> place;      ///< among the kernel's counts; nothing: the system's account
  };

  std::vector<std::string> event_names_;
  UsageScope scope_;
  KernelCounters kernel_;
  std::vector<Source> sources_;  ///< one per event
  bool has_clock_ = false;       ///< reads the clock of processor time
  bool reads_account_ = false;   ///< reads other figures of the account
  std::vector<std::int64_t> trial_counts_;
  std::vector<RefusedEvent> refused_;
};

/// Why the trial's count of an event shows that it counts wrong; empty: it does not show that. `raised`:
/// as many happened, by the account or because the trial made them; nothing: not known.
std::string why_wrong(std::string_view event_name, std::int64_t counted, std::optional<std::int64_t> raised);

}  // namespace cg2d
