#include "cg/timing/event_counters.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// Begins to count at the kernel: the calling thread, and of a process the threads that it makes afterwards. Not open: errno.
Descriptor opened_counter(std::uint64_t event_number, UsageScope scope) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = event_number;
  attributes.inherit = scope == UsageScope::process ? 1 : 0;
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
  if (!papi_names.empty()) {
    papi_ = std::make_unique<PapiCounters>(papi_names, multiplexed);
    refused_.insert(refused_.end(), papi_->refused().begin(), papi_->refused().end());
    for (const auto& name : papi_->event_names()) sources_.push_back({.name = name});
  }
  std::ranges::sort(sources_, {}, [&](const Source& source) {
    return std::ranges::find(event_names, source.name) - event_names.begin();
  });
  event_names_ = names_of(sources_);
}

std::string EventCounters::open(const std::string& event_name) {
  const auto& event = *find_software_event(event_name);
  if (!event.happens_here) return "the kernel raises it on other kinds of processor only";
  if (without_masks(event_name) != event_name)
    return "software events have no masks: they are counted in user and kernel mode together";
  Source source{.name = event_name, .event = &event};
  if (event.account == nullptr) {
    source.counter = opened_counter(event.number, usage_scope_);
    if (!source.counter.is_open()) return why_not_opened(errno);
  }
  std::optional<SystemUsage> usage;
  if (const auto moves = event.number == PERF_COUNT_SW_CPU_MIGRATIONS ? migrate() : 0;
      moves > 0 && count_of(source, usage) == 0)
    return fmt::format("it counts nothing: 0 in a trial that made {}", moves);
  sources_.push_back(std::move(source));
  return {};
}

// A read of an open counter returns all its bytes; otherwise the count is 0.
std::int64_t EventCounters::count_of(const Source& source, std::optional<SystemUsage>& usage) const noexcept {
  std::int64_t count = 0;
  if (source.counter.is_open()) {
    static_cast<void>(::read(source.counter.number(), &count, sizeof count) == sizeof count);
    return count;
  }
  if (!usage) usage = system_usage(usage_scope_);
  return (*usage).*source.event->account;
}

void EventCounters::read(CounterValues& values) const noexcept {
  CounterValues of_papi{};
  if (papi_) papi_->read(of_papi);
  std::optional<SystemUsage> usage;
  for (std::size_t k = 0, papi_place = 0; k < sources_.size(); ++k)
    values[k] = sources_[k].event == nullptr ? of_papi[papi_place++] : count_of(sources_[k], usage);
}

std::string why_not_counted(const std::string& event_name) {
  const EventCounters counters({event_name}, false, UsageScope::thread);
  return counters.refused().empty() ? std::string() : counters.refused().front().reason;
}

std::vector<KnownEvent> known_events() {
  auto events = known_papi_events();
  for (const auto& row : software_event_table()) {
    KnownEvent event{
        .name = full_name(row), .family = EventFamily::software, .description = std::string(row.description)};
    const EventCounters counters({event.name}, false, UsageScope::thread);
    if (counters.refused().empty()) {
      CounterValues counted{};
      // Switches, some of them to threads of other control groups.
      for (int k = 0; row.account == nullptr && k < 16; ++k)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      counters.read(counted);
      event.trial_count = counted.front();
    } else {
      event.why_not = counters.refused().front().reason;
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
