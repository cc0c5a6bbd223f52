#pragma once

// Events: their names, kinds and groups, the counters of all of a run in one list, the events that all ranks can count, and the share of each
// phase in them. A group is a purpose: roles, and for each role the events that can play it, best first. Software events come from the system's account, all others from PAPI.
// Where cg2d is built without PAPI there are no counters: without_papi.cpp says so in the place of event_counters.cpp.

#include <array>
#include <functional>

#include "cg/base/build_info.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/system_files.hpp"
#include "cg/base/values.hpp"
#include "cg/timing/phase.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The most events of one run: more than processors count at a time.
inline constexpr size_t most_counted_events = 16;
/// One value per event, in the order of the events; values after the last event stay zero.
using CounterValues = std::array<int64_t, most_counted_events>;

/// The unit of an event's values.
enum class EventKind { core_cycles, reference_cycles, instructions, misses, nanoseconds, other };
/// For people and for JSON. Core cycles follow the core's frequency, reference cycles do not.
std::string_view event_kind_name(EventKind kind);
/// Kind of an event by its name; PAPI itself does not tell.
EventKind event_kind(std::string_view event_name);

/// Before the names of the kernel's events.
inline constexpr std::string_view perf_prefix = "perf::";

/// "perf::CYCLES:u=1" -> "perf::CYCLES".
std::string_view without_masks(std::string_view event_name);

/// "A,B" -> A, B. Throws InputError (naming `origin`) for an empty name, one given twice, or too many.
std::vector<std::string> event_names_from(const std::string& text, std::string_view origin);

/// An event that cannot be counted here.
struct RefusedEvent {
  std::string name;
  std::string reason;  ///< with a remedy where there is one; one line
};
class Members;
void describe(Members& m, RefusedEvent& event);
/// All refused events in one line; those with the same reason share it.
std::string refusal_text(const std::vector<RefusedEvent>& refused);

/// Origin of an event.
enum class EventFamily { preset, generic, native, software };
/// For people and for JSON.
std::span<const NamedValue<EventFamily>> words_of(EventFamily family);

/// An event of a list, after a trial.
struct KnownEvent {
  std::string name;
  EventFamily family = EventFamily::preset;
  std::string description{};
  std::string why_not{};    ///< empty: it can be counted here
  int64_t trial_count = 0;  ///< in a trial that raises most events; of a software event so far
  /// It can be counted, but whether it ever counts is not known: the trial did not raise it.
  bool is_unproven() const { return why_not.empty() && trial_count == 0; }
};

/// The kernel's software events: switches, migrations, faults, clocks. The system's own account of a thread or process has most of them, in user
/// and kernel mode; the others are not counted. PAPI, which counts in user mode, is not asked: it would give 0 for ever, and in kernel mode it counts
/// nothing on a processor that its library does not know. (The kernel's event of the task clock leaves out the switching itself, 7 us each time, so it
/// is 10 % short for a rank that waits. AMD EPYC of family 26, virtual, Linux 6.18, 2026-11; account and kernel agree within 2 %: 105 naps gave 105
/// switches.)
struct SoftwareEvent {
  std::string_view name;  ///< as PAPI has it
  std::string_view description;
  int64_t SystemUsage::*account = nullptr;  ///< its figure there; null: it is not counted
};
std::span<const SoftwareEvent> software_event_table();
/// The row of that name, with or without "perf::", masks aside. Null: there is none.
const SoftwareEvent* find_software_event(std::string_view event_name);

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
std::optional<size_t> find_role(EventRole role, const std::vector<std::string>& event_names);

/// Events for a list of events and groups.
struct ResolvedEvents {
  std::vector<std::string> names;     ///< each once
  std::vector<RefusedEvent> refused;  ///< "group: role" that nothing can play, with the reason
};
void describe(Members& m, ResolvedEvents& resolved);
/// Why an event cannot be counted; empty: it can.
using WhyNot = std::function<std::string(const std::string& event_name)>;
/// That of an event by itself, without multiplexing. Throws RunError as EventCounters.
std::string why_not_counted(const std::string& event_name);
/// Puts the first countable event of each role in the place of a group; other names stay as they are. A pure
/// function of why_not, which is asked for candidates only.
ResolvedEvents resolve_groups(const std::vector<std::string>& events_and_groups, const WhyNot& why_not);

// ---------------------------------------------------------------- counting

/// The version of the PAPI that cg2d was built with, such as "7.0.0"; empty: it was built without it.
inline std::optional<std::string> papi_version() {
  if (build_info::papi_version.empty()) return std::nullopt;
  return std::string(build_info::papi_version);
}
/// A remedy that would make more of the processor's events countable here: a setting of the kernel, or a
/// machine that is not virtual; before it why PAPI counts none at all, where that is so. One line. Once another of these functions has
/// started PAPI.
std::string counting_remedy();

/// Counts events of this process: those of the system's account, of the calling thread or of the process; those of PAPI in user mode, of the calling
/// thread, and of the threads that are made afterwards where they can be inherited (counts_all_threads). Not thread-safe.
class EventCounters {
 public:
  /// Takes the events that can be counted, and keeps the reasons against the others. scope: of what comes from the system's account. Local.
  /// Throws RunError (unavailable) if there are events of PAPI and it does not start, or if cg2d was built without it.
  EventCounters(const std::vector<std::string>& event_names, bool multiplexed, UsageScope scope);
  ~EventCounters();
  EventCounters(const EventCounters&) = delete;
  EventCounters& operator=(const EventCounters&) = delete;

  /// The events that are counted, in the order asked for.
  const std::vector<std::string>& event_names() const { return event_names_; }
  const std::vector<RefusedEvent>& refused() const { return refused_; }
  /// Whether PAPI's events are of all threads. Those of the system's account always are.
  bool counts_all_threads() const { return counts_all_threads_; }

  /// The counts so far, from an arbitrary start. Cost: 0.8 us for all that come from the account (AMD EPYC of family 26, virtual, 2026-11), and for those
  /// of PAPI one system call where they cannot be read directly, 1 us there.
  void read(CounterValues& values) const noexcept;

 private:
  /// The origin of one event's values.
  struct Source {
    std::string name;
    int64_t SystemUsage::*account = nullptr;  ///< null: PAPI's next one
  };

  void start_papi_set(const std::vector<std::string>& event_names, bool multiplexed);
  void add_refusal(std::string event_name, std::string reason) {
    refused_.push_back({.name = std::move(event_name), .reason = std::move(reason)});
  }

  UsageScope usage_scope_;
  std::vector<Source> sources_;
  int event_set_ = -1;  ///< PAPI_NULL: no event is PAPI's
  bool is_papi_counting_ = false;
  bool counts_all_threads_ = true;
  std::vector<std::string> event_names_;
  std::vector<RefusedEvent> refused_;
};

/// The events that groups ask for, and the software events, each tried by counting. Local. Cost: well under a second.
/// Throws RunError (unavailable) if PAPI does not start, or if cg2d was built without it.
std::vector<KnownEvent> known_events();

/// Throws InputError for the first name that is no event at all, with the name that is most like it, and RunError as known_events().
/// other_names: what else may stand in the list.
void require_known_events(const std::vector<std::string>& event_names, std::string_view origin,
                          const std::vector<std::string>& other_names);

// ---------------------------------------------------------------- events of phases

/// One rank's events in one timed region. Trivially copyable: ranks send it as it is.
struct RankCounts {
  std::array<CounterValues, phase_count> phases{};
  CounterValues region{};
  uint64_t reading_count = 0;
};

/// Adds up events of phases. One reading per phase, after it: reading is a system call, and a second one per phase would double the cost. Events
/// between two phases, a few scalar instructions, count with the next one; leave_out() keeps the rest from them. Not thread-safe.
class PhaseCounters final : public PhaseObserver {
 public:
  /// Measures what a reading costs. Cost: 400 readings.
  explicit PhaseCounters(EventCounters& counters);

  /// Forgets what has been counted; the region begins.
  void begin_region();
  void after_phase(Phase phase, uint64_t begin_clocks, uint64_t end_clocks) override;
  /// Events since the last reading belong to no phase.
  void leave_out();
  /// The region ends. Events since the last reading belong to no phase.
  void end_region();
  const RankCounts& counts() const { return counts_; }

  /// Reference clocks that one reading costs, the smallest mean of several batches.
  double clocks_per_reading() const { return clocks_per_reading_; }

 private:
  EventCounters& counters_;
  double clocks_per_reading_;
  RankCounts counts_;
  CounterValues first_{};
  CounterValues last_{};
};

/// The events that the user asked for.
struct CounterOptions {
  std::string events{};  ///< --papi: names with commas between them; empty: those of PAPI_EVENTS, if any
  bool reads_environment = true;  ///< PAPI_EVENTS, where there are no names
  bool multiplexed = false;       ///< --papi-multiplex
  bool strict = false;            ///< --papi-strict
  bool has_threads = false;  ///< several per rank: the system's account is the process's, not this thread's
};

/// For options without events to count. Throws InputError for one that says how to count them.
void refuse_ways_to_count(const CounterOptions& options);

/// The events and groups of the option, or of the environment's PAPI_EVENTS on rank 0. Collective. Throws
/// InputError, for a name that is no event, too, and as refuse_ways_to_count() where there are none.
std::vector<std::string> wanted_events(const CounterOptions& options, comm::RankGroup& group);

struct CounterSetup {
  std::unique_ptr<EventCounters> counters;  ///< null: nothing was asked for
  std::vector<RefusedEvent> refused;        ///< the same on every rank; the reason is the lowest rank's
};

/// Counts on every rank the events that all of them can count, in the place of each group those that rank 0
/// finds for it; null counters for no names. Collective. Throws RunError (unavailable): PAPI does not start, or
/// the options are strict and an event is refused; InputError: more events than can be counted.
CounterSetup set_up_counters(const std::vector<std::string>& names, const CounterOptions& options,
                             comm::RankGroup& group);

}  // namespace cg2d
