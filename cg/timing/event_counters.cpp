#include "cg/timing/events.hpp"

#include <linux/perf_event.h>
#include <papi.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

namespace cg2d {
namespace {

/// kernel.perf_event_paranoid: how much the kernel forbids its users to count; empty where it does not say.
std::optional<int64_t> perf_event_paranoid() {
  return number_in_file("/proc/sys/kernel/perf_event_paranoid", "");
}

// ---------------------------------------------------------------- the kernel's counters of software events

/// Begins to count at the kernel: the calling thread, and of a process the threads that it makes afterwards. Not open: errno.
Descriptor opened_counter(uint64_t event_number, UsageScope scope) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = event_number;
  attributes.inherit = scope == UsageScope::process ? 1 : 0;
  attributes.exclude_hv = 1;
  constexpr int this_thread = 0;
  constexpr int any_core = -1;
  constexpr int no_group = -1;
  return Descriptor(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, this_thread, any_core, no_group, PERF_FLAG_FD_CLOEXEC)));
}

/// The reason why a counter cannot be opened, from its errno, with a remedy.
std::string why_not_opened(int error) {
  if (error != EACCES && error != EPERM) return fmt::format("the kernel: {}", std::strerror(error));
  const auto paranoid = perf_event_paranoid();
  constexpr int most_paranoid_that_counts_the_kernel = 1;
  if (paranoid && *paranoid > most_paranoid_that_counts_the_kernel)
    return fmt::format(
        "it happens in the kernel, and kernel.perf_event_paranoid is {}: set it to 1 or less (sysctl "
        "kernel.perf_event_paranoid=1), or give the program CAP_PERFMON",
        *paranoid);
  return "the system forbids perf_event_open: a container's seccomp profile may do so";
}

/// Moves to another allowed core and back; the moves that were seen. 0: there is only one core.
int64_t migrate() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
  int64_t moves = 0;
  for (int core = 0; core < CPU_SETSIZE && moves < 2; ++core) {
    if (!CPU_ISSET(core, &allowed) || core == sched_getcpu()) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0 && sched_getcpu() == core) ++moves;
  }
  sched_setaffinity(0, sizeof allowed, &allowed);
  return moves;
}

// ---------------------------------------------------------------- PAPI

constexpr int perf_component = 0;  // PAPI's first one, which counts the processor
/// The reason against an event that always happens, and was not counted during work_on_everything().
constexpr const char* papi_stands_still =
    "it counts nothing: 0 while the processor worked; its host or its driver does not pass the counter on";

/// Starts the library where it is not running yet. Throws RunError (unavailable).
void start_papi() {
  if (PAPI_is_initialized() != PAPI_NOT_INITED) return;
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  if (version == PAPI_VER_CURRENT) return;
  throw RunError(ExitCode::unavailable, "--papi: PAPI did not start: {}",
                 version > 0 ? "it is of another version than the one that cg2d was built with"
                             : PAPI_strerror(version));
}

/// Cycles and instructions happen in whatever a program does.
bool always_happens(std::string_view event_name) {
  const auto kind = event_kind(event_name);
  return kind == EventKind::core_cycles || kind == EventKind::reference_cycles ||
         kind == EventKind::instructions;
}

/// Raises most events of a processor: misses of caches, TLBs and branches, and arithmetic. About 0.3 ms.
void work_on_everything() {
  constexpr int step_count = 20'000;
  static std::vector<unsigned char> memory(size_t{8} << 20, 1);
  std::minstd_rand random;
  volatile double sum = 0.0;
  for (int step = 0; step < step_count; ++step) {
    auto& element = memory[random() % memory.size()];
    if ((random() & 1U) != 0) sum = sum * 0.5 + static_cast<double>(element);
    element ^= 1U;
  }
}

/// The reason why PAPI counts no event of the processor at all; empty: it does. Once PAPI has started.
std::string why_papi_is_disabled() {
  const auto* component = PAPI_get_component_info(perf_component);
  if (component == nullptr) return "it was built without perf events";
  return component->disabled == 0 ? std::string() : std::string(component->disabled_reason);
}

/// A setting of the kernel, or a machine that is not virtual.
std::string remedy_outside_of_papi() {
  const auto paranoid = perf_event_paranoid();
  const std::string setting = paranoid ? fmt::format("kernel.perf_event_paranoid is {}", *paranoid)
                                       : std::string("kernel.perf_event_paranoid is not there");
  const auto* hardware = PAPI_get_hardware_info();
  if (hardware != nullptr && hardware->virtualized != 0)
    return fmt::format(
        "this is a virtual machine: its host must pass the processor's counters on (virtual PMU), or run on "
        "the hardware itself ({})",
        setting);
  constexpr int most_paranoid_that_counts = 2;
  if (!paranoid || *paranoid > most_paranoid_that_counts)
    return fmt::format("{}: set it to 2 or less (sysctl kernel.perf_event_paranoid=2)", setting);
  return fmt::format("this processor or its driver has no such counter ({})", setting);
}

/// The events that the kernel has for every processor, as PAPI names them after "perf::". PAPI itself lists
/// them only on processors that it knows; elsewhere this says whether a name is misspelt.
// clang-format off
constexpr std::array<std::string_view, 37> generic_events{
    "CYCLES", "CPU-CYCLES", "REF-CYCLES", "BUS-CYCLES", "INSTRUCTIONS",
    "STALLED-CYCLES-FRONTEND", "IDLE-CYCLES-FRONTEND", "STALLED-CYCLES-BACKEND", "IDLE-CYCLES-BACKEND",
    "BRANCHES", "BRANCH-INSTRUCTIONS", "BRANCH-MISSES", "BRANCH-LOADS", "BRANCH-LOAD-MISSES",
    "CACHE-REFERENCES", "CACHE-MISSES",
    "L1-DCACHE-LOADS", "L1-DCACHE-LOAD-MISSES", "L1-DCACHE-STORES", "L1-DCACHE-STORE-MISSES",
    "L1-DCACHE-PREFETCHES", "L1-DCACHE-PREFETCH-MISSES", "L1-ICACHE-LOADS", "L1-ICACHE-LOAD-MISSES",
    "LLC-LOADS", "LLC-LOAD-MISSES", "LLC-STORES", "LLC-STORE-MISSES",
    "LLC-PREFETCHES", "LLC-PREFETCH-MISSES",
    "DTLB-LOADS", "DTLB-LOAD-MISSES", "DTLB-STORES", "DTLB-STORE-MISSES",
    "ITLB-LOADS", "ITLB-LOAD-MISSES", "NODE-LOADS"};
// clang-format on

bool is_generic(std::string_view event_name) {
  auto name = without_masks(event_name);
  if (!name.starts_with(perf_prefix)) return false;
  name.remove_prefix(perf_prefix.size());
  return std::ranges::count(generic_events, name) > 0;
}

struct EventTrial {
  int result = PAPI_OK;
  int64_t count = 0;

  /// An event that always happens and stands still is not counted.
  bool stands_still() const { return result == PAPI_OK && count == 0; }
};

/// Counts an event in a set of its own, while no other counts.
EventTrial try_event(const char* name) {
  int event_set = PAPI_NULL;
  EventTrial trial{.result = PAPI_create_eventset(&event_set)};
  if (trial.result != PAPI_OK) return trial;
  trial.result = PAPI_add_named_event(event_set, name);
  if (trial.result == PAPI_OK) trial.result = PAPI_start(event_set);
  if (trial.result == PAPI_OK) {
    work_on_everything();
    long long count = 0;
    trial.result = PAPI_stop(event_set, &count);
    trial.count = count;
  }
  PAPI_cleanup_eventset(event_set);
  PAPI_destroy_eventset(&event_set);
  return trial;
}

/// Presets, and the events of the component that counts the processor, without the kernel's software events; where PAPI does not count the
/// processor, the kernel's generic events. visit(name, description). Once PAPI has started.
template <typename Visit>
void visit_processor_events(const Visit& visit) {
  const auto visit_code = [&](int code) {
    PAPI_event_info_t info;
    if (PAPI_get_event_info(code, &info) == PAPI_OK && find_software_event(info.symbol) == nullptr)
      visit(info.symbol, std::string_view(info.long_descr));
  };
  // PAPI's constants are ints with the sign bit set.
  int code = static_cast<int>(PAPI_PRESET_MASK);
  for (int result = PAPI_enum_event(&code, PAPI_ENUM_FIRST); result == PAPI_OK;
       result = PAPI_enum_event(&code, PAPI_ENUM_EVENTS))
    visit_code(code);
  if (!why_papi_is_disabled().empty()) {
    for (const auto name : generic_events) visit(fmt::format("{}{}", perf_prefix, name).c_str(), "");
    return;
  }
  code = static_cast<int>(PAPI_NATIVE_MASK);
  for (int result = PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, perf_component); result == PAPI_OK;
       result = PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, perf_component))
    visit_code(code);
}

std::string reason_of(int error) {
  if (!why_papi_is_disabled().empty()) return counting_remedy();
  if (error == PAPI_ECNFLCT)
    return fmt::format("PAPI: {}; ask for fewer events, or for --papi-multiplex", PAPI_strerror(error));
  return fmt::format("PAPI: {}; {}", PAPI_strerror(error), counting_remedy());
}

static_assert(sizeof(CounterValues::value_type) == sizeof(long long));

/// As PAPI takes them.
long long* papi_values(CounterValues& values) { return reinterpret_cast<long long*>(values.data()); }

}  // namespace

std::optional<std::string> papi_version() {
  start_papi();
  const auto version = static_cast<unsigned>(PAPI_get_opt(PAPI_LIB_VERSION, nullptr));
  return fmt::format("{}.{}.{}.{}", PAPI_VERSION_MAJOR(version), PAPI_VERSION_MINOR(version),
                     PAPI_VERSION_REVISION(version), PAPI_VERSION_INCREMENT(version));
}

std::string counting_remedy() {
  const auto disabled = why_papi_is_disabled();
  return (disabled.empty() ? "" : fmt::format("PAPI does not know this processor: {}; ", disabled)) +
         remedy_outside_of_papi();
}

EventCounters::EventCounters(const std::vector<std::string>& event_names, bool multiplexed, UsageScope scope)
    : usage_scope_(scope) {
  std::vector<std::string> of_processor;
  for (const auto& name : event_names) {
    if (find_software_event(name) == nullptr) {
      of_processor.push_back(name);
    } else if (const auto why_not = open(name); !why_not.empty()) {
      refused_.push_back({.name = name, .reason = why_not});
    }
  }
  if (!of_processor.empty()) start_papi_set(of_processor, multiplexed);
  std::ranges::sort(sources_, {}, [&](const Source& source) {
    return std::ranges::find(event_names, source.name) - event_names.begin();
  });
  event_names_ = names_of(sources_);
}

std::string EventCounters::open(const std::string& event_name) {
  const auto& event = *find_software_event(event_name);
  if (!event.happens_here) return "the kernel raises it on other kinds of processor only";
  if (without_masks(event_name) != event_name)
    return "software events have no masks: they are counted in user and kernel mode together";
  Source source{.name = event_name, .event = &event};
  if (event.account == nullptr) {
    source.counter = opened_counter(event.number, usage_scope_);
    if (!source.counter.is_open()) return why_not_opened(errno);
  }
  std::optional<SystemUsage> usage;
  if (const auto moves = event.number == PERF_COUNT_SW_CPU_MIGRATIONS ? migrate() : 0;
      moves > 0 && count_of(source, usage) == 0)
    return fmt::format("it counts nothing: 0 in a trial that made {}", moves);
  sources_.push_back(std::move(source));
  return {};
}

void EventCounters::start_papi_set(const std::vector<std::string>& event_names, bool multiplexed) {
  start_papi();
  const auto require = [](int result, std::string_view what) {
    if (result == PAPI_OK) return;
    throw RunError(ExitCode::unavailable, "--papi: {}: {}; {}", what, PAPI_strerror(result),
                   remedy_outside_of_papi());
  };
  if (multiplexed) require(PAPI_multiplex_init(), "PAPI_multiplex_init");
  event_set_ = PAPI_NULL;
  require(PAPI_create_eventset(&event_set_), "PAPI_create_eventset");
  require(PAPI_assign_eventset_component(event_set_, perf_component), "PAPI_assign_eventset_component");
  counts_all_threads_ = false;
  if (why_papi_is_disabled().empty()) {  // else every event will be refused with that reason
    if (multiplexed) require(PAPI_set_multiplex(event_set_), "PAPI_set_multiplex");
    PAPI_option_t option{};
    option.inherit.eventset = event_set_;
    option.inherit.inherit = PAPI_INHERIT_ALL;
    counts_all_threads_ = PAPI_set_opt(PAPI_INHERIT, &option) == PAPI_OK;
  }
  std::vector<std::string> added;
  for (const auto& name : event_names) {
    if (always_happens(name) && try_event(name.c_str()).stands_still()) {
      refused_.push_back({.name = name, .reason = papi_stands_still});
    } else if (const int result = PAPI_add_named_event(event_set_, name.c_str()); result != PAPI_OK) {
      refused_.push_back({.name = name, .reason = reason_of(result)});
    } else {
      added.push_back(name);
    }
  }
  const int result = added.empty() ? PAPI_OK : PAPI_start(event_set_);
  for (const auto& name : added) {
    if (result == PAPI_OK) {
      sources_.push_back({.name = name});
    } else {
      refused_.push_back({.name = name, .reason = reason_of(result)});
    }
  }
  is_papi_counting_ = !added.empty() && result == PAPI_OK;
}

EventCounters::~EventCounters() {
  if (event_set_ == PAPI_NULL) return;
  CounterValues values{};
  if (is_papi_counting_) PAPI_stop(event_set_, papi_values(values));
  PAPI_cleanup_eventset(event_set_);
  PAPI_destroy_eventset(&event_set_);
}

// A read of an open counter returns all its bytes; otherwise the count is 0.
int64_t EventCounters::count_of(const Source& source, std::optional<SystemUsage>& usage) const noexcept {
  int64_t count = 0;
  if (source.counter.is_open()) {
    static_cast<void>(::read(source.counter.number(), &count, sizeof count) == sizeof count);
    return count;
  }
  if (!usage) usage = system_usage(usage_scope_);
  return (*usage).*source.event->account;
}

// PAPI's set that has been started can be read; were it not so, the values would stand still, and the report says that nothing was counted.
void EventCounters::read(CounterValues& values) const noexcept {
  CounterValues of_papi{};
  if (is_papi_counting_) PAPI_read(event_set_, papi_values(of_papi));
  std::optional<SystemUsage> usage;
  for (size_t k = 0, papi_place = 0; k < sources_.size(); ++k)
    values[k] = sources_[k].event == nullptr ? of_papi[papi_place++] : count_of(sources_[k], usage);
}

std::vector<KnownEvent> known_events() {
  std::vector<KnownEvent> events;
  start_papi();
  const auto disabled = why_papi_is_disabled();
  visit_processor_events([&](const char* name, std::string_view description) {
    const auto trial = try_event(name);
    // PAPI's descriptions have line breaks, and "masks" after commas that say nothing about an event.
    KnownEvent event{.name = name,
                     .description = std::string(description.substr(0, description.find(", masks:"))),
                     .trial_count = trial.count};
    std::ranges::replace(event.description, '\n', ' ');
    if (!event.name.starts_with("PAPI_"))
      event.family = event.name.starts_with(perf_prefix) ? EventFamily::generic : EventFamily::native;
    if (!disabled.empty()) {
      event.why_not = fmt::format("PAPI does not know this processor: {}", disabled);
    } else if (trial.result != PAPI_OK) {
      event.why_not = PAPI_strerror(trial.result);
    } else if (always_happens(name) && trial.stands_still()) {
      event.why_not = papi_stands_still;
    }
    events.push_back(std::move(event));
  });
  for (const auto& row : software_event_table()) {
    KnownEvent event{
        .name = full_name(row), .family = EventFamily::software, .description = std::string(row.description)};
    const EventCounters counters({event.name}, false, UsageScope::thread);
    if (counters.refused().empty()) {
      CounterValues counted{};
      // Switches, some of them to threads of other control groups.
      for (int k = 0; row.account == nullptr && k < 16; ++k)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      counters.read(counted);
      event.trial_count = counted.front();
    } else {
      event.why_not = counters.refused().front().reason;
    }
    events.push_back(std::move(event));
  }
  return events;
}

void require_known_events(const std::vector<std::string>& event_names, std::string_view origin,
                          const std::vector<std::string>& other_names) {
  for (const auto& name : event_names) {
    if (std::ranges::count(other_names, name) > 0 || find_software_event(name) != nullptr) continue;
    start_papi();
    if (int code = PAPI_NULL; is_generic(name) || PAPI_event_name_to_code(name.c_str(), &code) == PAPI_OK)
      continue;
    std::vector<std::string> names;
    visit_processor_events([&](const char* known, std::string_view) { names.emplace_back(known); });
    // PAPI lists events that need a mask, but does not know them without one; it will say so.
    const auto is_listed = [&](const std::string& known) {
      return known == name || known.ends_with("::" + name);
    };
    if (std::ranges::any_of(names, is_listed)) continue;
    names.insert(names.end(), other_names.begin(), other_names.end());
    for (const auto& row : software_event_table()) names.push_back(full_name(row));
    const auto nearest = nearest_name(name, names);
    throw InputError("{}: {} is no event{}; cg2d events --all lists all", origin, name,
                     nearest.empty() ? "" : fmt::format(": did you mean {}?", nearest));
  }
}

}  // namespace cg2d
