#include "cg/timing/event_counters.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// The modes in which an event is counted.
struct CountedModes {
  bool user = true;
  bool kernel = true;
};

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

/// Begins to count at the kernel: the calling thread, and of a process the threads that it makes afterwards. Not open: errno.
Descriptor opened_counter(std::uint64_t event_number, const CountedModes& modes, UsageScope scope) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = event_number;
  attributes.inherit = scope == UsageScope::process ? 1 : 0;
  attributes.exclude_user = modes.user ? 0 : 1;
  attributes.exclude_kernel = modes.kernel ? 0 : 1;
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

/// Raises some of each event that can be raised cheaply; the number of migrations.
std::int64_t raise_events() {
  touch_fresh_pages();
  nap();
  spin();
  return migrate();
}

}  // namespace

EventCounters::EventCounters(const std::vector<std::string>& event_names, bool multiplexed, UsageScope scope)
    : usage_scope_(scope) {
  std::vector<std::string> papi_names;
  for (const auto& name : event_names) {
    if (find_software_event(name) == nullptr) {
      papi_names.push_back(name);
    } else if (const auto why_not = open(name); !why_not.empty()) {
      refused_.push_back({.name = name, .reason = why_not});
    }
  }
  if (!sources_.empty()) refuse_what_counts_nothing();
  if (!papi_names.empty()) {
    papi_ = std::make_unique<PapiCounters>(papi_names, multiplexed);
    refused_.insert(refused_.end(), papi_->refused().begin(), papi_->refused().end());
    for (const auto& name : papi_->event_names()) sources_.push_back({.name = name});
  }
  std::ranges::sort(sources_, {}, [&](const Source& source) {
    return std::ranges::find(event_names, source.name) - event_names.begin();
  });
  for (const auto& source : sources_) event_names_.push_back(source.name);
}

std::string EventCounters::open(const std::string& event_name) {
  const auto& event = *find_software_event(event_name);
  if (!event.happens_here) return "the kernel raises it on other kinds of processor only";
  const auto masks = parts_of(event_name).masks;
  const auto modes = modes_from(masks);
  if (!modes) return "software events have the masks u and k only, such as :u=1:k=1";
  Descriptor counter;
  if (event.account == nullptr || !masks.empty()) {
    counter = opened_counter(event.number, *modes, usage_scope_);
    if (!counter.is_open()) return why_not_opened(errno);
  }
  sources_.push_back({.name = event_name, .event = &event, .counter = std::move(counter)});
  return {};
}

void EventCounters::refuse_what_counts_nothing() {
  CounterValues before{};
  CounterValues after{};
  const auto usage_before = system_usage(usage_scope_);
  read(before);
  const auto migrations = raise_events();
  read(after);
  const auto usage = system_usage(usage_scope_) - usage_before;
  for (std::size_t k = 0; k < sources_.size(); ++k) sources_[k].trial_count = after[k] - before[k];
  std::erase_if(sources_, [&](const Source& source) {
    const bool is_migration = source.event->number == PERF_COUNT_SW_CPU_MIGRATIONS;
    const auto raised =
        source.event->account != nullptr ? usage.*source.event->account : (is_migration ? migrations : 0);
    if (!source.counter.is_open() || source.trial_count > 0 || raised == 0) return false;
    refused_.push_back(
        {.name = source.name, .reason = fmt::format("it counts nothing: 0 in a trial that made {}", raised)});
    return true;
  });
}

// A read of an open counter returns all its bytes; otherwise the value would stand still.
void EventCounters::read(CounterValues& values) const noexcept {
  CounterValues of_papi{};
  if (papi_) papi_->read(of_papi);
  std::optional<SystemUsage> usage;
  for (std::size_t k = 0, papi_place = 0; k < sources_.size(); ++k) {
    const auto& [name, event, counter, trial_count] = sources_[k];
    if (event == nullptr) {
      values[k] = of_papi[papi_place++];
    } else if (counter.is_open()) {
      static_cast<void>(::read(counter.number(), &values[k], sizeof values[k]) == sizeof values[k]);
    } else {
      if (!usage) usage = system_usage(usage_scope_);
      values[k] = (*usage).*event->account;
    }
  }
}

std::string why_not_counted(const std::string& event_name) {
  const EventCounters counters({event_name}, false, UsageScope::thread);
  return counters.refused().empty() ? std::string() : counters.refused().front().reason;
}

std::vector<KnownEvent> known_events() {
  auto events = known_papi_events();
  std::vector<std::string> names;
  for (const auto& row : software_event_table()) names.push_back(full_name(row));
  const EventCounters counters(names, false, UsageScope::thread);
  const auto& counted = counters.event_names();
  for (const auto& row : software_event_table()) {
    KnownEvent event{
        .name = full_name(row), .family = EventFamily::software, .description = std::string(row.description)};
    const auto place = std::ranges::find(counted, event.name);
    if (place != counted.end()) {
      event.trial_count = counters.trial_count(static_cast<std::size_t>(place - counted.begin()));
    } else {
      event.why_not = std::ranges::find(counters.refused(), event.name, &RefusedEvent::name)->reason;
    }
    events.push_back(std::move(event));
  }
  return events;
}

void require_known_events(const std::vector<std::string>& event_names, std::string_view origin,
                          const std::vector<std::string>& other_names) {
  for (const auto& name : event_names) {
    if (std::ranges::count(other_names, name) > 0 || find_software_event(name) != nullptr || papi_knows(name))
      continue;
    auto names = papi_event_names();
    // PAPI lists events that need a mask, but does not know them without one; it will say so.
    const auto is_listed = [&](const std::string& known) {
      return known == name || known.ends_with("::" + name);
    };
    if (std::any_of(names.begin(), names.end(), is_listed)) continue;
    names.insert(names.end(), other_names.begin(), other_names.end());
    for (const auto& row : software_event_table()) names.push_back(full_name(row));
    const auto nearest = nearest_name(name, names);
    throw InputError("{}: {} is no event{}; cg2d events --all lists all", origin, name,
                     nearest.empty() ? "" : fmt::format(": did you mean {}?", nearest));
  }
}

}  // namespace cg2d
