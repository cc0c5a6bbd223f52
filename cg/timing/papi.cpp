#include "cg/timing/papi.hpp"

#include <papi.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <string_view>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/timing/events.hpp"

namespace cg2d {

namespace {

constexpr int perf_component = 0;  // PAPI's first one, which counts the processor
/// The reason against an event that always happens, and was not counted during work_on_everything().
constexpr std::string_view papi_stands_still =
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
  static std::vector<unsigned char> memory(std::size_t{8} << 20, 1);
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

}  // namespace

std::string counting_remedy() {
  const auto disabled = why_papi_is_disabled();
  return (disabled.empty() ? "" : fmt::format("PAPI does not know this processor: {}; ", disabled)) +
         remedy_outside_of_papi();
}

std::optional<std::string> papi_version() {
  start_papi();
  const auto version = static_cast<unsigned>(PAPI_get_opt(PAPI_LIB_VERSION, nullptr));
  return fmt::format("{}.{}.{}.{}", PAPI_VERSION_MAJOR(version), PAPI_VERSION_MINOR(version),
                     PAPI_VERSION_REVISION(version), PAPI_VERSION_INCREMENT(version));
}

namespace {

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
  std::int64_t count = 0;
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

/// An event that always happens, and did not.
bool stands_still(std::string_view name, const EventTrial& trial) {
  return trial.result == PAPI_OK && trial.count == 0 && always_happens(name);
}

/// PAPI's descriptions have line breaks and "attributes" after commas that say nothing about an event.
std::string joined_lines(std::string_view text) {
  text = text.substr(0, text.find(", masks:"));
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

using EventVisitor = std::function<void(const char* name, std::string_view description)>;

/// All events of one enumeration, without the kernel's software events. PAPI gives the first one its own way.
void visit_all(int first_code, int component, const EventVisitor& visit) {
  int code = first_code;
  const bool is_preset = component < 0;
  int result = is_preset ? PAPI_enum_event(&code, PAPI_ENUM_FIRST)
                         : PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, component);
  while (result == PAPI_OK) {
    PAPI_event_info_t info;
    if (PAPI_get_event_info(code, &info) == PAPI_OK && find_software_event(info.symbol) == nullptr)
      visit(info.symbol, info.long_descr);
    result = is_preset ? PAPI_enum_event(&code, PAPI_ENUM_EVENTS)
                       : PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, component);
  }
}

/// Presets, and the events of the component that counts the processor; where it does not, the kernel's generic ones.
void visit_processor_events(const EventVisitor& visit) {
  start_papi();
  // PAPI's constants are ints with the sign bit set.
  visit_all(static_cast<int>(PAPI_PRESET_MASK), -1, visit);
  if (why_papi_is_disabled().empty())
    return visit_all(static_cast<int>(PAPI_NATIVE_MASK), perf_component, visit);
  for (const auto name : generic_events) visit(fmt::format("{}{}", perf_prefix, name).c_str(), "");
}

std::string reason_of(int error) {
  if (!why_papi_is_disabled().empty()) return counting_remedy();
  if (error == PAPI_ECNFLCT)
    return fmt::format("PAPI: {}; ask for fewer events, or for --papi-multiplex", PAPI_strerror(error));
  return fmt::format("PAPI: {}; {}", PAPI_strerror(error), counting_remedy());
}

static_assert(sizeof(CounterValues::value_type) == sizeof(long long));

EventFamily family_of(std::string_view event_name) {
  if (event_name.starts_with("PAPI_")) return EventFamily::preset;
  return event_name.starts_with(perf_prefix) ? EventFamily::generic : EventFamily::native;
}

}  // namespace

bool papi_knows(const std::string& event_name) {
  start_papi();
  int code = PAPI_NULL;
  return is_generic(event_name) || PAPI_event_name_to_code(event_name.c_str(), &code) == PAPI_OK;
}

std::vector<std::string> papi_event_names() {
  std::vector<std::string> names;
  visit_processor_events([&](const char* name, std::string_view) { names.emplace_back(name); });
  return names;
}

std::vector<KnownEvent> known_papi_events() {
  std::vector<KnownEvent> events;
  visit_processor_events([&](const char* name, std::string_view description) {
    const auto trial = try_event(name);
    events.push_back({.name = name,
                      .family = family_of(name),
                      .description = joined_lines(description),
                      .why_not = stands_still(name, trial)
                                     ? std::string(papi_stands_still)
                                     : (trial.result == PAPI_OK ? "" : PAPI_strerror(trial.result)),
                      .trial_count = trial.count});
  });
  if (const auto disabled = why_papi_is_disabled(); !disabled.empty()) {
    for (auto& event : events) event.why_not = fmt::format("PAPI does not know this processor: {}", disabled);
  }
  return events;
}

PapiCounters::PapiCounters(const std::vector<std::string>& event_names, bool multiplexed) {
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
  if (why_papi_is_disabled().empty()) {  // else every event will be refused with that reason
    if (multiplexed) require(PAPI_set_multiplex(event_set_), "PAPI_set_multiplex");
    PAPI_option_t option{};
    option.inherit.eventset = event_set_;
    option.inherit.inherit = PAPI_INHERIT_ALL;
    inherits_ = PAPI_set_opt(PAPI_INHERIT, &option) == PAPI_OK;
  }
  const auto refuse = [&](const std::string& name, int result) {
    refused_.push_back({.name = name, .reason = reason_of(result)});
  };
  for (const auto& name : event_names) {
    if (always_happens(name) && stands_still(name, try_event(name.c_str()))) {
      refused_.push_back({.name = name, .reason = std::string(papi_stands_still)});
    } else if (const int result = PAPI_add_named_event(event_set_, name.c_str()); result != PAPI_OK) {
      refuse(name, result);
    } else {
      event_names_.push_back(name);
    }
  }
  if (event_names_.empty()) return;
  if (const int result = PAPI_start(event_set_); result != PAPI_OK) {
    for (const auto& name : std::exchange(event_names_, {})) refuse(name, result);
  }
}

PapiCounters::~PapiCounters() {
  CounterValues values{};
  if (!event_names_.empty()) PAPI_stop(event_set_, reinterpret_cast<long long*>(values.data()));
  PAPI_cleanup_eventset(event_set_);
  PAPI_destroy_eventset(&event_set_);
}

void PapiCounters::read(CounterValues& values) noexcept {
  // A set that has been started can be read; were it not so, the values would stand still, and the report
  // says that nothing was counted.
  if (!event_names_.empty()) PAPI_read(event_set_, reinterpret_cast<long long*>(values.data()));
}

}  // namespace cg2d
