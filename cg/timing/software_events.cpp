#include "cg/timing/software_events.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <strings.h>

#include <algorithm>
#include <array>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

// Linux 5.13; older headers lack the name.
constexpr std::uint64_t cgroup_switches_number = 11;

// clang-format off
constexpr std::array software_events{
    SoftwareEvent{"TASK-CLOCK", "PERF_COUNT_SW_TASK_CLOCK", PERF_COUNT_SW_TASK_CLOCK,
                  "processor time of the threads", &SystemUsage::processor_ns},
    SoftwareEvent{"CPU-CLOCK", "PERF_COUNT_SW_CPU_CLOCK", PERF_COUNT_SW_CPU_CLOCK,
                  "processor time of the threads, as TASK-CLOCK", &SystemUsage::processor_ns},
    SoftwareEvent{"CONTEXT-SWITCHES", "CS PERF_COUNT_SW_CONTEXT_SWITCHES", PERF_COUNT_SW_CONTEXT_SWITCHES,
                  "switches to another thread, voluntary and involuntary", &SystemUsage::switches},
    SoftwareEvent{"CPU-MIGRATIONS", "MIGRATIONS PERF_COUNT_SW_CPU_MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS,
                  "moves to another core"},
    SoftwareEvent{"PAGE-FAULTS", "FAULTS PERF_COUNT_SW_PAGE_FAULTS", PERF_COUNT_SW_PAGE_FAULTS,
                  "page faults, minor and major", &SystemUsage::page_faults},
    SoftwareEvent{"MINOR-FAULTS", "PERF_COUNT_SW_PAGE_FAULTS_MIN", PERF_COUNT_SW_PAGE_FAULTS_MIN,
                  "page faults without reading from disk", &SystemUsage::minor_faults},
    SoftwareEvent{"MAJOR-FAULTS", "PERF_COUNT_SW_PAGE_FAULTS_MAJ", PERF_COUNT_SW_PAGE_FAULTS_MAJ,
                  "page faults that read from disk", &SystemUsage::major_faults},
    SoftwareEvent{"CGROUP-SWITCHES", "PERF_COUNT_SW_CGROUP_SWITCHES", cgroup_switches_number,
                  "switches to a thread of another control group"},
    SoftwareEvent{"ALIGNMENT-FAULTS", "PERF_COUNT_SW_ALIGNMENT_FAULTS", PERF_COUNT_SW_ALIGNMENT_FAULTS,
                  "unaligned accesses that the kernel mends", nullptr, false},
    SoftwareEvent{"EMULATION-FAULTS", "PERF_COUNT_SW_EMULATION_FAULTS", PERF_COUNT_SW_EMULATION_FAULTS,
                  "instructions that the kernel emulates", nullptr, false},
};
// clang-format on

bool same_text(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::span<const SoftwareEvent> software_event_table() { return software_events; }

const SoftwareEvent* find_software_event(std::string_view event_name) {
  auto name = parts_of(event_name).name;
  if (name.starts_with(perf_prefix)) name.remove_prefix(perf_prefix.size());
  const auto found = std::find_if(software_events.begin(), software_events.end(), [&](const auto& event) {
    const auto is_name = [&](std::string_view known) { return same_text(known, name); };
    return is_name(event.name) || std::ranges::any_of(split_at(event.aliases, ' '), is_name);
  });
  return found == software_events.end() ? nullptr : &*found;
}

std::string full_name(const SoftwareEvent& event) { return fmt::format("{}{}", perf_prefix, event.name); }

}  // namespace cg2d
