#include "cg/timing/software_counters.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

constexpr std::string_view not_on_this_processor = "the kernel raises it on other kinds of processor only";

// Linux 5.13; older headers lack the name.
constexpr std::uint64_t cgroup_switches_number = 11;

constexpr UsageFigure no_figure = [](const SystemUsage&) -> std::optional<std::int64_t> { return {}; };
constexpr UsageFigure processor_time = [](const SystemUsage& usage) -> std::optional<std::int64_t> {
  return usage.processor_ns;
};

// clang-format off
constexpr std::array software_events{
    SoftwareEvent{"TASK-CLOCK", "PERF_COUNT_SW_TASK_CLOCK", PERF_COUNT_SW_TASK_CLOCK,
                  "processor time of the threads", processor_time, true, ""},
    SoftwareEvent{"CPU-CLOCK", "PERF_COUNT_SW_CPU_CLOCK", PERF_COUNT_SW_CPU_CLOCK,
                  "processor time of the threads, as TASK-CLOCK", processor_time, true, ""},
    SoftwareEvent{"CONTEXT-SWITCHES", "CS PERF_COUNT_SW_CONTEXT_SWITCHES", PERF_COUNT_SW_CONTEXT_SWITCHES,
                  "switches to another thread, voluntary and involuntary",
                  [](const SystemUsage& usage) -> std::optional<std::int64_t> { return usage.switches; },
                  false, ""},
    SoftwareEvent{"CPU-MIGRATIONS", "MIGRATIONS PERF_COUNT_SW_CPU_MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS,
                  "moves to another core", no_figure, false, ""},
    SoftwareEvent{"PAGE-FAULTS", "FAULTS PERF_COUNT_SW_PAGE_FAULTS", PERF_COUNT_SW_PAGE_FAULTS,
                  "page faults, minor and major",
                  [](const SystemUsage& usage) -> std::optional<std::int64_t> {
                    return usage.minor_faults + usage.major_faults;
                  },
                  false, ""},
    SoftwareEvent{"MINOR-FAULTS", "PERF_COUNT_SW_PAGE_FAULTS_MIN", PERF_COUNT_SW_PAGE_FAULTS_MIN,
                  "page faults without reading from disk",
                  [](const SystemUsage& usage) -> std::optional<std::int64_t> { return usage.minor_faults; },
                  false, ""},
    SoftwareEvent{"MAJOR-FAULTS", "PERF_COUNT_SW_PAGE_FAULTS_MAJ", PERF_COUNT_SW_PAGE_FAULTS_MAJ,
                  "page faults that read from disk",
                  [](const SystemUsage& usage) -> std::optional<std::int64_t> { return usage.major_faults; },
                  false, ""},
    SoftwareEvent{"CGROUP-SWITCHES", "PERF_COUNT_SW_CGROUP_SWITCHES", cgroup_switches_number,
                  "switches to a thread of another control group", no_figure, false, ""},
    SoftwareEvent{"ALIGNMENT-FAULTS", "PERF_COUNT_SW_ALIGNMENT_FAULTS", PERF_COUNT_SW_ALIGNMENT_FAULTS,
                  "unaligned accesses that the kernel mends", no_figure, false, not_on_this_processor},
    SoftwareEvent{"EMULATION-FAULTS", "PERF_COUNT_SW_EMULATION_FAULTS", PERF_COUNT_SW_EMULATION_FAULTS,
                  "instructions that the kernel emulates", no_figure, false, not_on_this_processor},
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

std::optional<std::int64_t> usage_of(std::string_view event_name, const SystemUsage& usage) {
  const auto* event = find_software_event(event_name);
  if (event == nullptr || !parts_of(event_name).masks.empty()) return std::nullopt;
  return event->in_usage(usage);
}

bool agrees_with_usage(std::int64_t counted, std::int64_t account, EventKind kind) {
  constexpr double largest_share = 0.02;
  // Between two readings: a few switches and faults, or the time of the readings themselves.
  const double few = kind == EventKind::nanoseconds ? 200'000.0 : 4.0;
  return std::abs(static_cast<double>(counted - account)) <=
         std::max(few, largest_share * static_cast<double>(account));
}

bool KernelCounters::add(std::uint64_t event_number, const CountedModes& modes) {
  assert(files_.size() < std::tuple_size_v<CounterValues>);
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = event_number;
  const bool is_group = scope_ == UsageScope::thread;
  attributes.inherit = is_group ? 0 : 1;
  attributes.read_format = is_group ? PERF_FORMAT_GROUP : 0;
  attributes.exclude_user = modes.user ? 0 : 1;
  attributes.exclude_kernel = modes.kernel ? 0 : 1;
  attributes.exclude_hv = 1;
  constexpr int this_thread = 0;
  constexpr int any_core = -1;
  constexpr int no_group = -1;
  const int leader = is_group && !files_.empty() ? files_.front().number() : no_group;
  Descriptor file(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, this_thread, any_core, leader, PERF_FLAG_FD_CLOEXEC)));
  if (!file.is_open()) return false;
  files_.push_back(std::move(file));
  return true;
}

// A read of an open event returns all its bytes; otherwise the values would stand still, which the comparison
// with the system's account shows.
void KernelCounters::read(CounterValues& values) const noexcept {
  if (files_.empty()) return;
  if (scope_ == UsageScope::thread) {
    // The number of events comes before their counts.
    std::array<std::int64_t, 1 + std::tuple_size_v<CounterValues>> group{};
    if (::read(files_.front().number(), group.data(), sizeof group) > 0)
      std::copy_n(group.begin() + 1, files_.size(), values.begin());
    return;
  }
  for (std::size_t k = 0; k < files_.size(); ++k)
    static_cast<void>(::read(files_[k].number(), &values[k], sizeof values[k]) == sizeof values[k]);
}

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

namespace {

/// ":u", ":k", ":u=1:k=0" and the like, as PAPI has them; nothing: the text is something else.
std::optional<CountedModes> modes_from(std::string_view masks) {
  if (masks.empty()) return CountedModes{};
  CountedModes modes{.user = false, .kernel = false};
  for (const auto& mask : split_at(masks.substr(1), ':')) {
    const auto mode = mask.substr(0, 1);
    const auto setting = mask.substr(mode.size());
    const bool is_on = setting.empty() || setting == "=1";
    if ((mode != "u" && mode != "k") || (!is_on && setting != "=0")) return std::nullopt;
    (mode == "u" ? modes.user : modes.kernel) = is_on;
  }
  return modes;
}

constexpr int trial_pages = 32;
constexpr int trial_naps = 16;
constexpr std::int64_t trial_spin_ns = 1'000'000;

void touch_fresh_pages() {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = trial_pages * page_bytes;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (std::size_t offset = 0; offset < bytes; offset += page_bytes)
    static_cast<volatile char*>(memory)[offset] = 1;
  munmap(memory, bytes);
}

void nap() {
  for (int k = 0; k < trial_naps; ++k) {
    // A shorter one may be over before the thread has left its core; even this one, where the core itself waits for
    // a processor of its host.
    const timespec duration{.tv_sec = 0, .tv_nsec = 20'000};
    nanosleep(&duration, nullptr);
  }
}

void spin() {
  const auto begin = system_usage(UsageScope::thread).processor_ns;
  while (system_usage(UsageScope::thread).processor_ns - begin < trial_spin_ns) {
  }
}

/// Moves to another allowed core and back; the moves that were seen. 0: there is only one core.
std::int64_t migrate() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
  std::int64_t moves = 0;
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

/// Counts that the trial raises, for an account that says 0.
constexpr SystemUsage usually_raised{
    .switches = trial_naps, .minor_faults = trial_pages, .processor_ns = trial_spin_ns};

/// Raises some of each event that can be raised cheaply; the number of migrations.
std::int64_t raise_events() {
  touch_fresh_pages();
  nap();
  spin();
  return migrate();
}

}  // namespace

SoftwareCounters::SoftwareCounters(const std::vector<std::string>& event_names, UsageScope scope)
    : scope_(scope), kernel_(scope) {
  for (const auto& name : event_names) open(name);
  refuse_what_counts_wrong();
}

void SoftwareCounters::open(const std::string& event_name) {
  const auto& event = *find_software_event(event_name);
  const auto refuse = [&](std::string_view reason) {
    refused_.push_back({.name = event_name, .reason = std::string(reason)});
  };
  if (!event.why_never.empty()) return refuse(event.why_never);
  const auto masks = parts_of(event_name).masks;
  const auto modes = modes_from(masks);
  if (!modes) return refuse("software events have the masks u and k only, such as :u=1:k=1");
  const bool has_account = masks.empty() && event.in_usage({}).has_value();
  std::optional<std::size_t> place;
  if (has_account && event.is_clock) {
    has_clock_ = true;
  } else if (kernel_.add(event.number, *modes)) {
    place = kernel_.size() - 1;
  } else if (has_account) {
    reads_account_ = true;
  } else {
    return refuse(why_not_opened(errno));
  }
  event_names_.push_back(event_name);
  sources_.push_back({.event = &event, .place = place});
}

void SoftwareCounters::read(std::span<std::int64_t> values) const noexcept {
  CounterValues counts{};
  kernel_.read(counts);
  const auto usage = reads_account_ ? system_usage(scope_)
                                    : SystemUsage{.processor_ns = has_clock_ ? processor_ns(scope_) : 0};
  for (std::size_t k = 0; k < sources_.size(); ++k) {
    const auto& [event, place] = sources_[k];
    values[k] = place ? counts[*place] : event->in_usage(usage).value_or(0);
  }
}

void SoftwareCounters::refuse_what_counts_wrong() {
  std::vector<std::int64_t> before(sources_.size());
  trial_counts_.resize(sources_.size());
  const auto usage_before = system_usage(scope_);
  read(before);
  const auto migrations = raise_events();
  read(trial_counts_);
  const auto usage = system_usage(scope_) - usage_before;
  for (std::size_t event = sources_.size(); event-- > 0;) {
    trial_counts_[event] -= before[event];
    const auto& row = *sources_[event].event;
    auto raised = row.in_usage(usage);
    if (raised == 0) raised = row.in_usage(usually_raised);
    if (row.number == PERF_COUNT_SW_CPU_MIGRATIONS) raised = migrations;
    const auto reason = why_wrong(event_names_[event], trial_counts_[event], raised);
    if (!reason.empty()) refuse(event, reason);
  }
}

void SoftwareCounters::refuse(std::size_t event, const std::string& reason) {
  refused_.push_back({.name = event_names_[event], .reason = reason});
  const auto place = static_cast<std::ptrdiff_t>(event);
  sources_.erase(sources_.begin() + place);
  event_names_.erase(event_names_.begin() + place);
  trial_counts_.erase(trial_counts_.begin() + place);
}

std::string why_wrong(std::string_view event_name, std::int64_t counted, std::optional<std::int64_t> raised) {
  if (!raised) return {};
  if (counted == 0 && *raised > 0)
    return fmt::format("it counts nothing: 0 in a trial that made {}", *raised);
  const auto* row = find_software_event(event_name);
  const bool is_whole = parts_of(event_name).masks.empty() && row != nullptr && row->in_usage({}).has_value();
  // The trial is short, and other programs may take the core in the middle of it.
  const auto slack = row != nullptr && row->is_clock ? trial_spin_ns / 2 : trial_naps / 4;
  if (is_whole && std::abs(counted - *raised) > slack)
    return fmt::format("it counts wrong: {} in a trial that made {}", counted, *raised);
  return {};
}

}  // namespace cg2d
