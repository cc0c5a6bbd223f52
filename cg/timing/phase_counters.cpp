#include "cg/timing/phase_counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {
namespace {

const RefusedEvent* find_refused(const std::vector<RefusedEvent>& refused, const std::string& name) {
  const auto found =
      std::find_if(refused.begin(), refused.end(), [&](const auto& event) { return event.name == name; });
  return found == refused.end() ? nullptr : &*found;
}

/// The reason of the lowest rank that has one, or an empty text.
std::string common_reason(const std::string& mine, comm::RankGroup& group) {
  const auto reasons = group.gather_all(mine);
  for (std::size_t rank = 0; rank < reasons.size(); ++rank) {
    if (reasons[rank].empty()) continue;
    return rank == 0 ? reasons[rank] : fmt::format("{} (rank {})", reasons[rank], rank);
  }
  return {};
}

}  // namespace

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
  for (std::size_t event = 0; event < last_.size(); ++event)
    counts_.region[event] = last_[event] - first_[event];
}

void PhaseCounters::add_since_last(CounterValues& sums) {
  CounterValues now{};
  counters_.read(now);
  const auto event_count = counters_.event_names().size();
  for (std::size_t event = 0; event < event_count; ++event) sums[event] += now[event] - last_[event];
  last_ = now;
}

double PhaseCounters::measure_clocks_per_reading() {
  constexpr int batch_count = 8;
  constexpr int readings_per_batch = 50;
  CounterValues values{};
  double best = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < batch_count; ++batch) {
    const std::uint64_t begin = read_cycle_counter();
    for (int k = 0; k < readings_per_batch; ++k) counters_.read(values);
    best = std::min(best, static_cast<double>(read_cycle_counter() - begin) / readings_per_batch);
  }
  return best;
}

std::vector<std::string> wanted_events(const CounterOptions& options, comm::RankGroup& group) {
  if (!options.events.empty()) return event_names_from(options.events, "--papi");
  const char* environment = std::getenv("PAPI_EVENTS");
  const auto text = group.broadcast(environment == nullptr ? std::string() : std::string(environment));
  return text.empty() ? std::vector<std::string>{} : event_names_from(text, "PAPI_EVENTS");
}

CounterSetup set_up_counters(const std::vector<std::string>& names, const CounterOptions& options,
                             comm::RankGroup& group) {
  CounterSetup setup;
  setup.asked = names;
  if (names.empty()) return setup;
  agree_on(group, [&] { setup.counters = std::make_unique<PapiCounters>(names, options.multiplexed); });
  std::vector<std::string> counted;
  for (const auto& name : names) {
    const auto* mine = find_refused(setup.counters->refused(), name);
    const auto reason = common_reason(mine == nullptr ? std::string() : mine->reason, group);
    if (reason.empty()) {
      counted.push_back(name);
    } else {
      setup.refused.push_back({.name = name, .reason = reason});
    }
  }
  if (options.strict && !setup.refused.empty())
    throw RunError(ExitCode::unavailable, fmt::format("--papi-strict: {}", refusal_text(setup.refused)));
  agree_on(group, [&] {
    if (counted == setup.counters->event_names()) return;
    setup.counters.reset();
    setup.counters = std::make_unique<PapiCounters>(counted, options.multiplexed);
    if (counted != setup.counters->event_names())
      throw RunError(ExitCode::unavailable, "--papi: events that could be counted no longer can");
  });
  return setup;
}

std::string refusal_text(const std::vector<RefusedEvent>& refused) {
  // Events with the same reason share it.
  std::vector<std::pair<std::string, std::string>> names_by_reason;
  for (const auto& event : refused) {
    const auto same = std::find_if(names_by_reason.begin(), names_by_reason.end(),
                                   [&](const auto& entry) { return entry.first == event.reason; });
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

}  // namespace cg2d
