#include "cg/timing/event_groups.hpp"

#include <fmt/format.h>

#include <array>

#include "cg/base/describe.hpp"

namespace cg2d {

// Presets come before the kernel's generic events: PAPI's authors have checked them for each processor. Lines
// from memory: events of AMD's Zen 4, of its Zen 3, and of Intel's servers count what a core fetches itself and
// by prefetching (PAPI 7.0 finds these names for such processors); misses of the last level, which come after
// them, leave prefetches out on some processors.
std::span<const MetricRole> role_table() {
  static const std::array<MetricRole, 15> table{{
      {EventRole::cycles, "core cycles", {"PAPI_TOT_CYC", "perf::CYCLES"}},
      {EventRole::instructions, "instructions", {"PAPI_TOT_INS", "perf::INSTRUCTIONS"}},
      {EventRole::stalled_cycles,
       "cycles without progress",
       {"PAPI_RES_STL", "PAPI_STL_CCY", "perf::STALLED-CYCLES-BACKEND"}},
      {EventRole::flops, "double-precision operations", {"PAPI_DP_OPS", "PAPI_FP_OPS"}},
      {EventRole::level1_misses, "level 1 data misses", {"PAPI_L1_DCM", "perf::L1-DCACHE-LOAD-MISSES"}},
      {EventRole::level2_misses, "level 2 misses", {"PAPI_L2_DCM", "PAPI_L2_TCM"}},
      {EventRole::level3_misses, "last-level misses", {"PAPI_L3_TCM", "perf::LLC-LOAD-MISSES"}},
      {EventRole::memory_lines,
       "cache lines from memory",
       {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR",
        "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL:MEM_IO_RMT", "OFFCORE_RESPONSE_0:ANY_DATA:L3_MISS",
        "PAPI_L3_TCM", "perf::CACHE-MISSES"}},
      {EventRole::tlb_misses, "misses of the data TLB", {"PAPI_TLB_DM", "perf::DTLB-LOAD-MISSES"}},
      {EventRole::branches, "branches", {"PAPI_BR_INS", "perf::BRANCHES"}},
      {EventRole::mispredictions, "mispredicted branches", {"PAPI_BR_MSP", "perf::BRANCH-MISSES"}},
      {EventRole::switches, "context switches", {"perf::CONTEXT-SWITCHES"}},
      {EventRole::migrations, "moves to another core", {"perf::CPU-MIGRATIONS"}},
      {EventRole::page_faults, "page faults", {"perf::PAGE-FAULTS"}},
      {EventRole::processor_time, "processor time", {"perf::TASK-CLOCK"}},
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
      {"software",
       "what the system does to the program",
       {switches, migrations, page_faults, processor_time}},
  }};
  return table;
}

std::vector<std::string> group_names() { return names_of(group_table()); }

namespace {

const MetricRole& row_of(EventRole role) { return role_table()[static_cast<std::size_t>(role)]; }

/// Adds a name, unless it is there.
void add_once(const std::string& name, std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

void resolve_role(const GroupRow& group, EventRole role, const WhyNot& why_not, ResolvedEvents& resolved) {
  const auto& row = row_of(role);
  std::string reason;
  for (const auto candidate : row.candidates) {
    const std::string name(candidate);
    auto why = why_not(name);
    if (why.empty()) return add_once(name, resolved.names);
    // The most common candidate is the last: its reason says most.
    reason = std::move(why);
  }
  resolved.refused.push_back(
      {.name = fmt::format("{}: {}", group.name, row.description), .reason = std::move(reason)});
}

}  // namespace

std::optional<std::size_t> find_role(EventRole role, const std::vector<std::string>& event_names) {
  for (const auto candidate : row_of(role).candidates) {
    const auto found = std::find(event_names.begin(), event_names.end(), candidate);
    if (found != event_names.end()) return static_cast<std::size_t>(found - event_names.begin());
  }
  return std::nullopt;
}

ResolvedEvents resolve_groups(const std::vector<std::string>& events_and_groups, const WhyNot& why_not) {
  ResolvedEvents resolved;
  for (const auto& name : events_and_groups) {
    const auto group = std::ranges::find(group_table(), name, &GroupRow::name);
    if (group == group_table().end()) {
      add_once(name, resolved.names);
      continue;
    }
    for (const auto role : group->roles) resolve_role(*group, role, why_not, resolved);
  }
  return resolved;
}

void describe(Members& m, ResolvedEvents& resolved) {
  m("names", resolved.names);
  m.list("refused", resolved.refused, [&](RefusedEvent& event, std::size_t /*index*/) {
    m("name", event.name);
    m("reason", event.reason);
  });
}

}  // namespace cg2d
