#include "cg/timing/papi_counters.hpp"

#include <fmt/format.h>
#include <papi.h>

#include <algorithm>
#include <fstream>

#include "cg/base/errors.hpp"

namespace cg2d {
namespace {

/// Starts the library where it is not running yet.
void start_library() {
  if (PAPI_is_initialized() != PAPI_NOT_INITED) return;
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  if (version == PAPI_VER_CURRENT) return;
  throw RunError(ExitCode::unavailable,
                 fmt::format("--papi: PAPI did not start: {}",
                             version > 0 ? "it is of another version than the one that cg2d was built with"
                                         : PAPI_strerror(version)));
}

std::string reason_of(const std::string& event_name, int error) {
  int code = PAPI_NULL;
  if (PAPI_event_name_to_code(event_name.c_str(), &code) != PAPI_OK) {
    return fmt::format("PAPI: {}; no event of that name here: cg2d events lists what there is",
                       PAPI_strerror(error));
  }
  if (error == PAPI_ECNFLCT)
    return fmt::format("PAPI: {}; ask for fewer events, or for --papi-multiplex", PAPI_strerror(error));
  return fmt::format("PAPI: {}; {}", PAPI_strerror(error), counting_remedy());
}

/// Whether an event can be added to a set of its own and started; PAPI's code.
int try_event(int code) {
  int event_set = PAPI_NULL;
  int result = PAPI_create_eventset(&event_set);
  if (result != PAPI_OK) return result;
  result = PAPI_add_event(event_set, code);
  if (result == PAPI_OK) {
    result = PAPI_start(event_set);
    CounterValues values{};
    if (result == PAPI_OK) PAPI_stop(event_set, reinterpret_cast<long long*>(values.data()));
  }
  PAPI_cleanup_eventset(event_set);
  PAPI_destroy_eventset(&event_set);
  return result;
}

/// PAPI's descriptions have line breaks and "attributes" after commas that say nothing about an event.
std::string one_line(std::string_view text) {
  text = text.substr(0, text.find(", masks:"));
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

void add_known(int code, std::vector<KnownEvent>& events) {
  PAPI_event_info_t info;
  if (PAPI_get_event_info(code, &info) != PAPI_OK) return;
  const int result = try_event(code);
  events.push_back({.name = info.symbol,
                    .description = one_line(info.long_descr),
                    .why_not = result == PAPI_OK ? "" : PAPI_strerror(result)});
}

/// All events of one enumeration. PAPI gives the first one its own way.
void add_all_known(int first_code, int component, std::vector<KnownEvent>& events) {
  int code = first_code;
  const bool is_preset = component < 0;
  int result = is_preset ? PAPI_enum_event(&code, PAPI_ENUM_FIRST)
                         : PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, component);
  while (result == PAPI_OK) {
    add_known(code, events);
    result = is_preset ? PAPI_enum_event(&code, PAPI_ENUM_EVENTS)
                       : PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, component);
  }
}

static_assert(sizeof(CounterValues::value_type) == sizeof(long long));

}  // namespace

std::string_view event_kind_name(EventKind kind) {
  switch (kind) {
    case EventKind::core_cycles:
      return "core cycles";
    case EventKind::reference_cycles:
      return "reference cycles";
    case EventKind::instructions:
      return "instructions";
    case EventKind::misses:
      return "misses";
    case EventKind::nanoseconds:
      return "nanoseconds";
    case EventKind::other:
      break;
  }
  return "count";
}

EventKind event_kind(std::string_view event_name) {
  const auto has = [&](std::string_view part) { return event_name.find(part) != std::string_view::npos; };
  const auto ends = [&](std::string_view part) { return event_name.ends_with(part); };
  if (has("REF_CYC") || has("REF-CYCLES") || has("REF_CPU_CYCLES")) return EventKind::reference_cycles;
  if (event_name == "PAPI_TOT_CYC" || ends("::CYCLES") || ends("::CPU-CYCLES") || ends("CPU_CYCLES"))
    return EventKind::core_cycles;
  if (event_name == "PAPI_TOT_INS" || ends("::INSTRUCTIONS")) return EventKind::instructions;
  if (ends("TASK-CLOCK") || ends("CPU-CLOCK")) return EventKind::nanoseconds;
  const bool is_preset = event_name.starts_with("PAPI_");
  const bool is_preset_miss = is_preset && (ends("CM") || ends("_LDM") || ends("_STM") || has("_TLB_"));
  if (has("MISS") || is_preset_miss) return EventKind::misses;
  return EventKind::other;
}

std::vector<std::string> event_names_from(const std::string& text, std::string_view origin) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto name = text.substr(begin, end - begin);
    if (name.empty() || name.find_first_of(" \t\r\n") != std::string::npos) {
      throw InputError(
          fmt::format("{} \"{}\": must be event names with commas between them, without spaces, such as "
                      "PAPI_TOT_CYC,perf::TASK-CLOCK",
                      origin, text));
    }
    if (std::find(names.begin(), names.end(), name) != names.end())
      throw InputError(fmt::format("{}: {} is there twice; name each event once", origin, name));
    names.push_back(name);
    begin = end + 1;
  }
  if (names.size() > most_counted_events) {
    throw InputError(
        fmt::format("{}: {} events; at most {} can be counted", origin, names.size(), most_counted_events));
  }
  return names;
}

PapiCounters::PapiCounters(const std::vector<std::string>& event_names, bool multiplexed) {
  start_library();
  make_set(multiplexed);
  for (const auto& name : event_names) add(name);
  start();
}

PapiCounters::~PapiCounters() {
  CounterValues values{};
  if (!event_names_.empty()) PAPI_stop(event_set_, reinterpret_cast<long long*>(values.data()));
  PAPI_cleanup_eventset(event_set_);
  PAPI_destroy_eventset(&event_set_);
}

void PapiCounters::make_set(bool multiplexed) {
  const auto require = [](int result, std::string_view what) {
    if (result == PAPI_OK) return;
    throw RunError(ExitCode::unavailable,
                   fmt::format("--papi: {}: {}; {}", what, PAPI_strerror(result), counting_remedy()));
  };
  if (multiplexed) require(PAPI_multiplex_init(), "PAPI_multiplex_init");
  event_set_ = PAPI_NULL;
  require(PAPI_create_eventset(&event_set_), "PAPI_create_eventset");
  constexpr int perf_component = 0;  // PAPI's first one, which counts the processor and the system
  require(PAPI_assign_eventset_component(event_set_, perf_component), "PAPI_assign_eventset_component");
  if (multiplexed) require(PAPI_set_multiplex(event_set_), "PAPI_set_multiplex");
  PAPI_option_t option{};
  option.inherit.eventset = event_set_;
  option.inherit.inherit = PAPI_INHERIT_ALL;
  inherits_ = PAPI_set_opt(PAPI_INHERIT, &option) == PAPI_OK;
}

void PapiCounters::add(const std::string& event_name) {
  const int result = PAPI_add_named_event(event_set_, event_name.c_str());
  if (result == PAPI_OK) {
    event_names_.push_back(event_name);
  } else {
    refused_.push_back({.name = event_name, .reason = reason_of(event_name, result)});
  }
}

void PapiCounters::start() {
  if (event_names_.empty()) return;
  const int result = PAPI_start(event_set_);
  if (result == PAPI_OK) return;
  for (const auto& name : event_names_) refused_.push_back({.name = name, .reason = reason_of(name, result)});
  event_names_.clear();
}

void PapiCounters::read(CounterValues& values) noexcept {
  // A set that has been started can be read; were it not so, the values would stand still, and the coverage
  // would show it.
  if (!event_names_.empty()) PAPI_read(event_set_, reinterpret_cast<long long*>(values.data()));
}

std::vector<KnownEvent> known_events() {
  start_library();
  std::vector<KnownEvent> events;
  // PAPI's constant is an int with the sign bit set.
  add_all_known(static_cast<int>(PAPI_PRESET_MASK), -1, events);
  for (int component = 0; component < PAPI_num_components(); ++component) {
    const auto* info = PAPI_get_component_info(component);
    if (info != nullptr && std::string_view(info->name) == "perf_event" && info->disabled == 0)
      add_all_known(static_cast<int>(PAPI_NATIVE_MASK), component, events);
  }
  return events;
}

std::string counting_remedy() {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  int paranoid = 0;
  const bool is_known = static_cast<bool>(file >> paranoid);
  const std::string setting = is_known ? fmt::format("kernel.perf_event_paranoid is {}", paranoid)
                                       : std::string("kernel.perf_event_paranoid is not there");
  const auto* hardware = PAPI_get_hardware_info();
  if (hardware != nullptr && hardware->virtualized != 0) {
    return fmt::format(
        "this is a virtual machine: its host must pass the processor's counters on (virtual PMU), or run on "
        "the hardware itself ({})",
        setting);
  }
  constexpr int most_paranoid_that_counts = 2;
  if (!is_known || paranoid > most_paranoid_that_counts)
    return fmt::format("{}: set it to 2 or less (sysctl kernel.perf_event_paranoid=2)", setting);
  return fmt::format("this processor or its driver has no such counter ({})", setting);
}

std::string papi_version() {
  start_library();
  const auto version = static_cast<unsigned>(PAPI_get_opt(PAPI_LIB_VERSION, nullptr));
  return fmt::format("{}.{}.{}.{}", PAPI_VERSION_MAJOR(version), PAPI_VERSION_MINOR(version),
                     PAPI_VERSION_REVISION(version), PAPI_VERSION_INCREMENT(version));
}

}  // namespace cg2d
