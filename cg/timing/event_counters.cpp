#include "cg/timing/events.hpp"

#include <papi.h>

#include <random>
#include <utility>

namespace cg2d {
namespace {

constexpr int perf_component = 0;  // PAPI's first one, which counts the processor

/// Starts the library where it is not running yet. Throws RunError (unavailable).
void start_papi() {
  if (PAPI_is_initialized() != PAPI_NOT_INITED) return;
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  if (version == PAPI_VER_CURRENT) return;
  throw RunError(ExitCode::unavailable, "--papi: PAPI did not start: {}",
                 version > 0 ? "it is of another version than the one that cg2d was built with"
                             : PAPI_strerror(version));
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
  const auto paranoid = number_in_file("/proc/sys/kernel/perf_event_paranoid", "");
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

/// The events that groups ask for, and the software events, without a trial.
std::vector<KnownEvent> listed_events() {
  std::vector<KnownEvent> events;
  for (const auto& role : role_table()) {
    for (const auto name : role.candidates) {
      if (find_software_event(name) != nullptr || std::ranges::count(events, name, &KnownEvent::name) > 0)
        continue;
      auto& event = events.emplace_back(
          KnownEvent{.name = std::string(name), .description = std::string(role.description)});
      if (!name.starts_with("PAPI_"))
        event.family = name.starts_with(perf_prefix) ? EventFamily::generic : EventFamily::native;
    }
  }
  for (const auto& row : software_event_table())
    events.push_back({.name = std::string(row.name),
                      .family = EventFamily::software,
                      .description = std::string(row.description)});
  return events;
}

std::string reason_of(int error) {
  if (!why_papi_is_disabled().empty()) return counting_remedy();
  if (error == PAPI_ECNFLCT)
    return fmt::format("PAPI: {}; ask for fewer events, or for --papi-multiplex", PAPI_strerror(error));
  if (error == PAPI_EPERM)
    return fmt::format("PAPI: {}; kernel.perf_event_paranoid must be 2 or less", PAPI_strerror(error));
  return fmt::format("PAPI: {}; {}", PAPI_strerror(error), counting_remedy());
}

static_assert(sizeof(CounterValues::value_type) == sizeof(long long));

/// As PAPI takes them.
long long* papi_values(CounterValues& values) { return reinterpret_cast<long long*>(values.data()); }

}  // namespace

std::string counting_remedy() {
  const auto disabled = why_papi_is_disabled();
  return (disabled.empty() ? "" : fmt::format("PAPI does not know this processor: {}; ", disabled)) +
         remedy_outside_of_papi();
}

EventCounters::EventCounters(const std::vector<std::string>& event_names, bool multiplexed, UsageScope scope)
    : usage_scope_(scope) {
  std::vector<std::string> of_papi;
  for (const auto& name : event_names) {
    const auto* const event = find_software_event(name);
    if (event == nullptr) {
      of_papi.push_back(name);
    } else if (event->account == nullptr) {
      add_refusal(name, "it happens in the kernel, and the system's account of a process does not have it");
    } else if (without_masks(name) != name) {
      add_refusal(name, "software events have no masks: they are counted in user and kernel mode together");
    } else {
      sources_.push_back({.name = name, .account = event->account});
    }
  }
  if (!of_papi.empty()) start_papi_set(of_papi, multiplexed);
  std::ranges::sort(sources_, {}, [&](const Source& source) {
    return std::ranges::find(event_names, source.name) - event_names.begin();
  });
  event_names_ = names_of(sources_);
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
  auto added = event_names;
  std::erase_if(added, [&](const auto& name) {
    const int result = PAPI_add_named_event(event_set_, name.c_str());
    if (result != PAPI_OK) add_refusal(name, reason_of(result));
    return result != PAPI_OK;
  });
  if (added.empty()) return;
  const int result = PAPI_start(event_set_);
  is_papi_counting_ = result == PAPI_OK;
  for (const auto& name : added) {
    if (is_papi_counting_) {
      sources_.push_back({.name = name});
    } else {
      add_refusal(name, reason_of(result));
    }
  }
}

EventCounters::~EventCounters() {
  if (event_set_ == PAPI_NULL) return;
  CounterValues values{};
  if (is_papi_counting_) PAPI_stop(event_set_, papi_values(values));
  PAPI_cleanup_eventset(event_set_);
  PAPI_destroy_eventset(&event_set_);
}

// PAPI's set that has been started can be read; were it not so, the values would stand still, and the report says that nothing was counted.
void EventCounters::read(CounterValues& values) const noexcept {
  CounterValues of_papi{};
  if (is_papi_counting_) PAPI_read(event_set_, papi_values(of_papi));
  SystemUsage usage;
  bool is_known = false;
  for (size_t k = 0, papi_place = 0; k < sources_.size(); ++k) {
    const auto account = sources_[k].account;
    if (account != nullptr && !std::exchange(is_known, true)) usage = system_usage(usage_scope_);
    values[k] = account == nullptr ? of_papi[papi_place++] : usage.*account;
  }
}

std::vector<KnownEvent> known_events() {
  auto events = listed_events();
  for (auto& event : events) {
    const EventCounters counters({event.name}, false, UsageScope::thread);
    CounterValues counted{};
    work_on_everything();
    counters.read(counted);
    event.trial_count = counted.front();
    if (!counters.refused().empty()) event.why_not = counters.refused().front().reason;
  }
  return events;
}

void require_known_events(const std::vector<std::string>& event_names, std::string_view origin,
                          const std::vector<std::string>& other_names) {
  for (const auto& name : event_names) {
    if (std::ranges::count(other_names, name) > 0 || find_software_event(name) != nullptr) continue;
    start_papi();
    // PAPI knows the kernel's names only on processors that it knows.
    auto names = names_of(listed_events());
    if (int code = PAPI_NULL; std::ranges::count(names, without_masks(name)) > 0 ||
                              PAPI_event_name_to_code(name.c_str(), &code) == PAPI_OK)
      continue;
    names.insert(names.end(), other_names.begin(), other_names.end());
    const auto nearest = nearest_name(name, names);
    throw InputError("{}: {} is no event{}; papi_avail and papi_native_avail list those of PAPI", origin,
                     name, nearest.empty() ? "" : fmt::format(": did you mean {}?", nearest));
  }
}

}  // namespace cg2d
