#include "cg/timing/events.hpp"

#include "cg/base/agreement.hpp"
#include "cg/base/describe.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {

std::string_view event_kind_name(EventKind kind) {
  constexpr std::array names{"core cycles", "reference cycles", "instructions",
                             "misses",      "nanoseconds",      "count"};
  return names.at(static_cast<size_t>(kind));
}

EventKind event_kind(std::string_view event_name) {
  const auto name = without_masks(event_name);
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

std::string_view without_masks(std::string_view event_name) {
  const auto prefix = event_name.find("::");
  return event_name.substr(0, event_name.find(':', prefix == std::string_view::npos ? 0 : prefix + 2));
}

std::vector<std::string> event_names_from(const std::string& text, std::string_view origin) {
  auto names = split_at(text, ',');
  for (const auto& name : names) {
    if (name.empty() || name.find_first_of(" \t\r\n") != std::string::npos) {
      throw InputError(
          "{} \"{}\": must be event names with commas between them, without spaces, such as "
          "PAPI_TOT_CYC,perf::TASK-CLOCK",
          origin, text);
    }
    if (std::ranges::count(names, name) > 1)
      throw InputError("{}: {} is there twice; name each event once", origin, name);
  }
  if (names.size() > most_counted_events)
    throw InputError("{}: {} events; at most {} can be counted", origin, names.size(), most_counted_events);
  return names;
}

std::string refusal_text(const std::vector<RefusedEvent>& refused) {
  std::vector<RefusedEvent> by_reason;
  for (const auto& event : refused) {
    if (const auto same = std::ranges::find(by_reason, event.reason, &RefusedEvent::reason);
        same == by_reason.end())
      by_reason.push_back(event);
    else
      same->name += ", " + event.name;
  }
  std::string text = "cannot be counted here:";
  for (const auto& [names, reason] : by_reason) text += fmt::format(" {} ({});", names, reason);
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

namespace {

constexpr std::array software_events{
    SoftwareEvent{"perf::TASK-CLOCK", "processor time of the threads", &SystemUsage::processor_ns},
    SoftwareEvent{"perf::CPU-CLOCK", "processor time of the threads, as TASK-CLOCK",
                  &SystemUsage::processor_ns},
    SoftwareEvent{"perf::CONTEXT-SWITCHES", "switches to another thread, voluntary and involuntary",
                  &SystemUsage::switches},
    SoftwareEvent{"perf::PAGE-FAULTS", "page faults, minor and major", &SystemUsage::page_faults},
    SoftwareEvent{"perf::MINOR-FAULTS", "page faults without reading from disk", &SystemUsage::minor_faults},
    SoftwareEvent{"perf::MAJOR-FAULTS", "page faults that read from disk", &SystemUsage::major_faults},
    SoftwareEvent{"perf::CPU-MIGRATIONS", "moves to another core"},
    SoftwareEvent{"perf::CGROUP-SWITCHES", "switches to a thread of another control group"},
    SoftwareEvent{"perf::ALIGNMENT-FAULTS", "unaligned accesses that the kernel mends"},
    SoftwareEvent{"perf::EMULATION-FAULTS", "instructions that the kernel emulates"},
};

}  // namespace

std::span<const SoftwareEvent> software_event_table() { return software_events; }

const SoftwareEvent* find_software_event(std::string_view event_name) {
  const auto name = without_masks(event_name);
  return row_named(software_events,
                   fmt::format("{}{}", name.starts_with(perf_prefix) ? "" : perf_prefix, name));
}

// Presets come before the kernel's generic events: PAPI's authors have checked them for each processor. Lines
// from memory: events of AMD's Zen 4, of its Zen 3, and of Intel's servers count what a core fetches itself and
// by prefetching (PAPI 7.0 finds these names for such processors); misses of the last level, which come after
// them, leave prefetches out on some processors.
std::span<const MetricRole> role_table() {
  using enum EventRole;
  static const std::array<MetricRole, 14> table{{
      {cycles, "core cycles", {"PAPI_TOT_CYC", "perf::CYCLES"}},
      {instructions, "instructions", {"PAPI_TOT_INS", "perf::INSTRUCTIONS"}},
      {stalled_cycles,
       "cycles without progress",
       {"PAPI_RES_STL", "PAPI_STL_CCY", "perf::STALLED-CYCLES-BACKEND"}},
      {flops, "double-precision operations", {"PAPI_DP_OPS", "PAPI_FP_OPS"}},
      {level1_misses, "level 1 data misses", {"PAPI_L1_DCM", "perf::L1-DCACHE-LOAD-MISSES"}},
      {level2_misses, "level 2 misses", {"PAPI_L2_DCM", "PAPI_L2_TCM"}},
      {level3_misses, "last-level misses", {"PAPI_L3_TCM", "perf::LLC-LOAD-MISSES"}},
      {memory_lines,
       "cache lines from memory",
       {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR",
        "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL:MEM_IO_RMT", "OFFCORE_RESPONSE_0:ANY_DATA:L3_MISS",
        "PAPI_L3_TCM", "perf::CACHE-MISSES"}},
      {tlb_misses, "misses of the data TLB", {"PAPI_TLB_DM", "perf::DTLB-LOAD-MISSES"}},
      {branches, "branches", {"PAPI_BR_INS", "perf::BRANCHES"}},
      {mispredictions, "mispredicted branches", {"PAPI_BR_MSP", "perf::BRANCH-MISSES"}},
      {switches, "context switches", {"perf::CONTEXT-SWITCHES"}},
      {page_faults, "page faults", {"perf::PAGE-FAULTS"}},
      {processor_time, "processor time", {"perf::TASK-CLOCK"}},
  }};
  return table;
}

std::span<const GroupRow> group_table() {
  using enum EventRole;
  static const std::array<GroupRow, 6> table{{
      {"cache",
       "misses of the caches, and bytes from memory",
       {level1_misses, level2_misses, level3_misses, memory_lines}},
      {"flops", "arithmetic", {flops, instructions, cycles}},
      {"stalls", "cycles, and those that were lost", {cycles, instructions, stalled_cycles}},
      {"tlb", "address translation", {tlb_misses}},
      {"branches", "branches, and how often they were predicted wrong", {branches, mispredictions}},
      {"software", "what the system does to the program", {switches, page_faults, processor_time}},
  }};
  return table;
}

std::vector<std::string> group_names() { return names_of(group_table()); }

namespace {

const MetricRole& row_of(EventRole role) { return role_table()[static_cast<size_t>(role)]; }

}  // namespace

std::string why_not_counted(const std::string& event_name) {
  const EventCounters counters({event_name}, false, UsageScope::thread);
  return counters.refused().empty() ? std::string() : counters.refused().front().reason;
}

std::optional<size_t> find_role(EventRole role, const std::vector<std::string>& event_names) {
  for (const auto candidate : row_of(role).candidates) {
    const auto found = std::ranges::find(event_names, candidate);
    if (found != event_names.end()) return static_cast<size_t>(found - event_names.begin());
  }
  return std::nullopt;
}

ResolvedEvents resolve_groups(const std::vector<std::string>& events_and_groups, const WhyNot& why_not) {
  ResolvedEvents resolved;
  const auto add_once = [&](std::string_view name) {
    if (std::ranges::count(resolved.names, name) == 0) resolved.names.emplace_back(name);
  };
  for (const auto& name : events_and_groups) {
    const auto* const group = row_named(group_table(), name);
    if (group == nullptr) {
      add_once(name);
      continue;
    }
    for (const auto role : group->roles) {
      const auto& row = row_of(role);
      std::string reason;  // the most common candidate is the last: its reason says most
      const auto found = std::ranges::find_if(row.candidates, [&](std::string_view candidate) {
        reason = why_not(std::string(candidate));
        return reason.empty();
      });
      if (found != row.candidates.end()) {
        add_once(*found);
      } else {
        resolved.refused.push_back(
            {.name = fmt::format("{}: {}", group->name, row.description), .reason = std::move(reason)});
      }
    }
  }
  return resolved;
}

void describe(Members& m, RefusedEvent& event) {
  m("name", event.name, not_empty());
  m("reason", event.reason, not_empty());
}

void describe(Members& m, ResolvedEvents& resolved) {
  m("names", resolved.names);
  m("refused", resolved.refused);
}

// ---------------------------------------------------------------- events of phases

namespace {

/// Why an event is refused: the reason of the lowest rank that has one, or an empty text. refused: on this rank.
std::string common_reason(const std::string& name, const std::vector<RefusedEvent>& refused,
                          comm::RankGroup& group) {
  const auto mine = std::ranges::find(refused, name, &RefusedEvent::name);
  const auto reasons = group.gather_all(mine == refused.end() ? std::string() : mine->reason);
  for (size_t rank = 0; rank < reasons.size(); ++rank) {
    if (reasons[rank].empty()) continue;
    return rank == 0 ? reasons[rank] : fmt::format("{} (rank {})", reasons[rank], rank);
  }
  return {};
}

}  // namespace

PhaseCounters::PhaseCounters(EventCounters& counters)
    : counters_(counters), clocks_per_reading_(least_clocks_per_call(50, [&] {
        CounterValues values{};
        counters.read(values);
      })) {}

void PhaseCounters::begin_region() {
  counts_ = {};
  counters_.read(first_);
  last_ = first_;
}

void PhaseCounters::leave_out() {
  counters_.read(last_);
  ++counts_.reading_count;
}

void PhaseCounters::end_region() {
  counters_.read(last_);
  for (size_t event = 0; event < last_.size(); ++event) counts_.region[event] = last_[event] - first_[event];
}

void PhaseCounters::after_phase(Phase phase, uint64_t /*begin_clocks*/, uint64_t /*end_clocks*/) {
  const auto before = last_;
  counters_.read(last_);
  ++counts_.reading_count;
  auto& counted = counts_.phases[index_of(phase)];
  for (size_t event = 0; event < last_.size(); ++event) counted[event] += last_[event] - before[event];
}

void refuse_ways_to_count(const CounterOptions& options) {
  if (options.multiplexed || options.strict)
    throw InputError("{}: goes with --papi only, which names the events to count",
                     options.multiplexed ? "--papi-multiplex" : "--papi-strict");
}

std::vector<std::string> wanted_events(const CounterOptions& options, comm::RankGroup& group) {
  const bool is_option = !options.events.empty();
  if (!is_option && !options.reads_environment) return {};
  const auto text = is_option ? options.events : group.broadcast(environment_variable("PAPI_EVENTS"));
  if (text.empty()) {
    refuse_ways_to_count(options);
    return {};
  }
  const std::string_view origin = is_option ? "--papi" : "PAPI_EVENTS";
  std::vector<std::string> names;
  agree_on(group, [&] {
    names = event_names_from(text, origin);
    require_known_events(names, origin, group_names());
  });
  return names;
}

CounterSetup set_up_counters(const std::vector<std::string>& names, const CounterOptions& options,
                             comm::RankGroup& group) {
  CounterSetup setup;
  if (names.empty()) return setup;
  // Ranks may run on different processors; all count what rank 0 finds.
  ResolvedEvents resolved;
  agree_on(group, [&] {
    if (group.rank() != 0) return;
    resolved = resolve_groups(names, why_not_counted);
    if (resolved.names.size() > most_counted_events)
      throw InputError("--papi: these groups have {} events here; at most {} can be counted",
                       resolved.names.size(), most_counted_events);
  });
  resolved = *from_json_line<ResolvedEvents>(group.broadcast(json_line(resolved)));
  setup.refused = std::move(resolved.refused);
  const auto count = [&](const std::vector<std::string>& events) {
    setup.counters = std::make_unique<EventCounters>(
        events, options.multiplexed, options.has_threads ? UsageScope::process : UsageScope::thread);
  };
  agree_on(group, [&] { count(resolved.names); });
  std::vector<std::string> counted;
  for (const auto& name : resolved.names) {
    const auto reason = common_reason(name, setup.counters->refused(), group);
    if (reason.empty()) {
      counted.push_back(name);
    } else {
      setup.refused.push_back({.name = name, .reason = reason});
    }
  }
  if (options.strict && !setup.refused.empty())
    throw RunError(ExitCode::unavailable, "--papi-strict: {}", refusal_text(setup.refused));
  agree_on(group, [&] {
    if (counted == setup.counters->event_names()) return;
    setup.counters.reset();
    count(counted);
    if (counted != setup.counters->event_names())
      throw RunError(ExitCode::unavailable, "--papi: events that could be counted no longer can");
  });
  return setup;
}

}  // namespace cg2d
