#pragma once

// Events of the processor and of the system, counted by PAPI; the one place that knows that library.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// "A,B" -> A, B. Throws InputError (naming `origin`) for an empty name, one given twice, or too many.
std::vector<std::string> event_names_from(const std::string& text, std::string_view origin);

/// An event that cannot be counted here.
struct RefusedEvent {
  std::string name;
  std::string reason;  ///< PAPI's own, with a remedy; one line
};

/// One set of events of this process. Counts the calling thread, and the threads that are made after the set
/// where PAPI can inherit (counts_all_threads). Not thread-safe.
class PapiCounters {
 public:
  /// Takes the events that can be counted, and keeps the reasons against the others. Local. Throws RunError
  /// (unavailable) if PAPI itself does not start.
  PapiCounters(const std::vector<std::string>& event_names, bool multiplexed);
  ~PapiCounters();
  PapiCounters(const PapiCounters&) = delete;
  PapiCounters& operator=(const PapiCounters&) = delete;
  PapiCounters(PapiCounters&&) = delete;
  PapiCounters& operator=(PapiCounters&&) = delete;

  [[nodiscard]] const std::vector<std::string>& event_names() const { return event_names_; }
  [[nodiscard]] const std::vector<RefusedEvent>& refused() const { return refused_; }
  [[nodiscard]] bool counts_all_threads() const { return inherits_; }

  /// The counts so far, from an arbitrary start. Cost: one system call where the processor's counters cannot
  /// be read directly, 1 us on a virtual machine of 2026.
  void read(CounterValues& values) noexcept;

 private:
  void make_set(bool multiplexed);
  void add(const std::string& event_name);
  void start();

  std::vector<std::string> event_names_;
  std::vector<RefusedEvent> refused_;
  int event_set_ = -1;  ///< PAPI_NULL, as make_set() sets it again
  bool inherits_ = false;
};

/// An event that PAPI knows, for a list.
struct KnownEvent {
  std::string name;
  std::string description;
  std::string why_not;  ///< empty: it can be counted here
};
/// Every preset of PAPI and every event of the system's own ("perf" component), each tried. Local. Cost: well
/// under a second. Throws RunError (unavailable) if PAPI itself does not start.
std::vector<KnownEvent> known_events();

/// A remedy that would make more events countable here: a setting of the kernel, or a machine that is not
/// virtual. One line.
std::string counting_remedy();

/// The version of the library that runs, such as "7.0.0.0".
std::string papi_version();

}  // namespace cg2d
