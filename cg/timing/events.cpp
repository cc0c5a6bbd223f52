#include "cg/timing/events.hpp"

#include <fmt/format.h>

#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/system_files.hpp"

namespace cg2d {

std::string_view event_kind_name(EventKind kind) {
  constexpr std::array names{"core cycles", "reference cycles", "instructions",
                             "misses",      "nanoseconds",      "count"};
  return names.at(static_cast<std::size_t>(kind));
}

EventKind event_kind(std::string_view event_name) {
  const auto name = parts_of(event_name).name;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  const auto ends = [&](std::string_view part) { return name.ends_with(part); };
  if (has("REF_CYC") || has("REF-CYCLES") || has("REF_CPU_CYCLES")) return EventKind::reference_cycles;
  if (name == "PAPI_TOT_CYC" || ends("::CYCLES") || ends("::CPU-CYCLES") || ends("CPU_CYCLES"))
    return EventKind::core_cycles;
  if (name == "PAPI_TOT_INS" || ends("::INSTRUCTIONS")) return EventKind::instructions;
  if (ends("TASK-CLOCK") || ends("CPU-CLOCK")) return EventKind::nanoseconds;
  const bool is_preset = name.starts_with("PAPI_");
  const bool is_preset_miss = is_preset && (ends("CM") || ends("_LDM") || ends("_STM") || has("_TLB_"));
  if (has("MISS") || is_preset_miss) return EventKind::misses;
  return EventKind::other;
}

EventNameParts parts_of(std::string_view event_name) {
  const auto prefix = event_name.find("::");
  const auto colon = event_name.find(':', prefix == std::string_view::npos ? 0 : prefix + 2);
  if (colon == std::string_view::npos) return {.name = event_name, .masks = {}};
  return {.name = event_name.substr(0, colon), .masks = event_name.substr(colon)};
}

std::vector<std::string> event_names_from(const std::string& text, std::string_view origin) {
  auto names = split_at(text, ',');
  for (const auto& name : names) {
    if (name.empty() || name.find_first_of(" \t\r\n") != std::string::npos) {
      throw InputError(
          fmt::format("{} \"{}\": must be event names with commas between them, without spaces, such as "
                      "PAPI_TOT_CYC,perf::TASK-CLOCK",
                      origin, text));
    }
    if (std::ranges::count(names, name) > 1)
      throw InputError(fmt::format("{}: {} is there twice; name each event once", origin, name));
  }
  if (names.size() > most_counted_events) {
    throw InputError(
        fmt::format("{}: {} events; at most {} can be counted", origin, names.size(), most_counted_events));
  }
  return names;
}

std::optional<std::int64_t> perf_event_paranoid() {
  return number_in_file("/proc/sys/kernel/perf_event_paranoid", "");
}

std::string refusal_text(const std::vector<RefusedEvent>& refused) {
  std::vector<std::pair<std::string, std::string>> names_by_reason;
  for (const auto& event : refused) {
    const auto same =
        std::ranges::find(names_by_reason, event.reason, [](const auto& entry) { return entry.first; });
    if (same == names_by_reason.end()) {
      names_by_reason.emplace_back(event.reason, event.name);
    } else {
      same->second += ", " + event.name;
    }
  }
  std::string text = "cannot be counted here:";
  for (const auto& [reason, names] : names_by_reason) text += fmt::format(" {} ({});", names, reason);
  text.pop_back();
  return text;
}

std::span<const NamedValue<EventFamily>> words_of(EventFamily /*family*/) {
  static constexpr std::array words{NamedValue<EventFamily>{"preset", EventFamily::preset},
                                    NamedValue<EventFamily>{"generic", EventFamily::generic},
                                    NamedValue<EventFamily>{"native", EventFamily::native},
                                    NamedValue<EventFamily>{"software", EventFamily::software}};
  return words;
}

}  // namespace cg2d
