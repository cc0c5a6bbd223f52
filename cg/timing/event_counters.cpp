#include "cg/timing/events.hpp"

#include <papi.h>

#include <random>
#include <utility>

namespace cg2d {
namespace {

/// kernel.perf_event_paranoid: how much the kernel forbids its users to count; empty where it does not say.
std::optional<int64_t> perf_event_paranoid() {
  return number_in_file("/proc/sys/kernel/perf_event_paranoid", "");
}

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

/// The kernel's names of the events that groups ask for. PAPI lists those names only on processors that it knows; elsewhere this says
/// whether a name is misspelt.
std::vector<std::string> generic_names() {
  std::vector<std::string> names;
  for (const auto& role : role_table()) {
    for (const auto candidate : role.candidates) {
      if (candidate.starts_with(perf_prefix) && find_software_event(candidate) == nullptr)
        names.emplace_back(candidate);
    }
  }
  return names;
}

/// Software events happen in the kernel, where PAPI counts nothing by itself.
int count_in_the_kernel(int event_set) {
  PAPI_option_t option{};
  option.domain.eventset = event_set;
  option.domain.domain = PAPI_DOM_ALL;
  return PAPI_set_opt(PAPI_DOMAIN, &option);
}

struct EventTrial {
  int result = PAPI_OK;
  int64_t count = 0;

  /// An event that always happens and stands still is not counted.
  bool stands_still() const { return result == PAPI_OK && count == 0; }
};

/// Counts an event in a set of its own, while no other counts.
EventTrial try_event(const char* name) {
  if (!why_papi_is_disabled().empty()) return {.result = PAPI_ENOCMP};
  int event_set = PAPI_NULL;
  EventTrial trial{.result = PAPI_create_eventset(&event_set)};
  if (trial.result != PAPI_OK) return trial;
  trial.result = PAPI_assign_eventset_component(event_set, perf_component);
  if (trial.result == PAPI_OK && find_software_event(name) != nullptr)
    trial.result = count_in_the_kernel(event_set);
  if (trial.result == PAPI_OK) trial.result = PAPI_add_named_event(event_set, name);
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
/// processor, generic_names(). visit(name, description). Once PAPI has started.
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
    for (const auto& name : generic_names()) visit(name.c_str(), "");
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
  if (error == PAPI_EPERM)
    return fmt::format(
        "PAPI: {}; kernel.perf_event_paranoid must be 1 or less for software events, 2 or less for others",
        PAPI_strerror(error));
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
    } else if (!event->happens_here) {
      add_refusal(name, "the kernel raises it on other kinds of processor only");
    } else if (without_masks(name) != name) {
      add_refusal(name, "software events have no masks: they are counted in user and kernel mode together");
    } else if (event->account == nullptr) {
      of_papi.push_back(name);
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
  std::vector<std::string> added;
  bool counts_kernel = false;
  for (const auto& name : event_names) {
    const bool is_of_kernel = find_software_event(name) != nullptr;
    const auto trial = is_of_kernel || always_happens(name) ? try_event(name.c_str()) : EventTrial{};
    if (trial.result != PAPI_OK) {
      add_refusal(name, reason_of(trial.result));
    } else if (always_happens(name) && trial.stands_still()) {
      add_refusal(name, papi_stands_still);
    } else {
      added.push_back(name);
      counts_kernel |= is_of_kernel;
    }
  }
  if (counts_kernel) require(count_in_the_kernel(event_set_), "PAPI_set_opt");
  std::erase_if(added, [&](const auto& name) {
    const int result = PAPI_add_named_event(event_set_, name.c_str());
    if (result != PAPI_OK) add_refusal(name, reason_of(result));
    return result != PAPI_OK;
  });
  const int result = added.empty() ? PAPI_OK : PAPI_start(event_set_);
  for (const auto& name : added) {
    if (result == PAPI_OK) {
      sources_.push_back({.name = name});
    } else {
      add_refusal(name, reason_of(result));
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
    CounterValues counted{};
    counters.read(counted);
    event.trial_count = counted.front();
    if (!counters.refused().empty()) event.why_not = counters.refused().front().reason;
    events.push_back(std::move(event));
  }
  return events;
}

void require_known_events(const std::vector<std::string>& event_names, std::string_view origin,
                          const std::vector<std::string>& other_names) {
  for (const auto& name : event_names) {
    if (std::ranges::count(other_names, name) > 0 || find_software_event(name) != nullptr) continue;
    start_papi();
    auto names = generic_names();
    if (int code = PAPI_NULL; std::ranges::count(names, without_masks(name)) > 0 ||
                              PAPI_event_name_to_code(name.c_str(), &code) == PAPI_OK)
      continue;
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
