#pragma once

// The kernel's software events: switches, migrations, faults, clocks; their counters, opened at the kernel and tried before they are used;
// and the system's own account of them.
// Counted without PAPI, which cannot do it right: its event sets count in user mode only, where switches and
// migrations never happen, and it counts nothing at all on a processor that its library does not know.
// Measured (AMD EPYC of family 26, virtual, Linux 6.18, 2026-11): 105 naps gave 105 switches with the kernel's
// mode and 0 without; of 67 page faults 64 without. The kernel's event of the task clock leaves out the
// switching itself, 7 us each time there, and so is 10 % short for a rank that waits: the clock of processor
// time takes its place.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/storage/open_file.hpp"
#include "cg/base/system_files.hpp"
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

/// The modes in which an event is counted.
struct CountedModes {
  bool user = true;
  bool kernel = true;
};

/// Counts events of the calling thread at the kernel. Of this thread alone: all files are one group, which is
/// read at once. Of the threads, too, that it makes afterwards: each file is read by itself, since the kernel
/// reads no group of inherited events. Not thread-safe.
class KernelCounters {
 public:
  explicit KernelCounters(UsageScope scope) : scope_(scope) {}

  /// Begins to count event number PERF_COUNT_SW_...; false, with the reason in errno: it cannot be opened. At most
  /// as many events as CounterValues has. It is counted until the end.
  [[nodiscard]] bool add(std::uint64_t event_number, const CountedModes& modes);
  [[nodiscard]] std::size_t size() const { return files_.size(); }

  /// The counts so far, in the order of add(); the first size() of the values are written. Cost: 0.65 us for a
  /// group of 3, 0.45 us for each file that is read by itself (AMD EPYC of family 26, virtual, 2026-11).
  void read(CounterValues& values) const noexcept;

 private:
  UsageScope scope_;
  std::vector<Descriptor> files_;
};

/// The reason why add() fails, from its errno, with a remedy.
std::string why_not_opened(int error);

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
