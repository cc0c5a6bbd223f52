#include "cg/timing/software_counters.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace cg2d {
namespace {

/// ":u", ":k", ":u=1:k=0" and the like, as PAPI has them; nothing: the text is something else.
std::optional<CountedModes> modes_from(std::string_view masks) {
  if (masks.empty()) return CountedModes{};
  CountedModes modes{.user = false, .kernel = false};
  while (!masks.empty()) {
    masks.remove_prefix(1);
    const auto end = std::min(masks.find(':'), masks.size());
    const auto mask = masks.substr(0, end);
    const bool is_on = mask.size() == 1 || mask.ends_with("=1");
    if (mask.size() != 1 && !is_on && !mask.ends_with("=0")) return std::nullopt;
    if (mask.size() != 1 && mask.size() != 3) return std::nullopt;
    if (mask.front() != 'u' && mask.front() != 'k') return std::nullopt;
    (mask.front() == 'u' ? modes.user : modes.kernel) = is_on;
    masks.remove_prefix(end);
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
