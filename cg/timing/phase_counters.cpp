#include "cg/timing/phase_counters.hpp"

#include "cg/base/agreement.hpp"
#include "cg/base/describe.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {
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
