// A cg2d that is built without PAPI counts no events.

#include "cg/timing/events.hpp"

namespace cg2d {
namespace {

/// begin: of the message; the option that asks for events.
[[noreturn]] void refuse(std::string_view begin) {
  throw RunError(ExitCode::unavailable,
                 "{}this cg2d was built without PAPI, which counts events; build it where PAPI is installed "
                 "(-DCG2D_WITH_PAPI=ON)",
                 begin);
}

}  // namespace

std::string counting_remedy() { return {}; }

EventCounters::EventCounters(const std::vector<std::string>& /*event_names*/, bool /*multiplexed*/,
                             UsageScope scope)
    : usage_scope_(scope) {
  refuse("--papi: ");
}

EventCounters::~EventCounters() = default;

void EventCounters::read(CounterValues& /*values*/) const noexcept {}

std::vector<KnownEvent> known_events() { refuse(""); }

void require_known_events(const std::vector<std::string>& /*event_names*/, std::string_view origin,
                          const std::vector<std::string>& /*other_names*/) {
  refuse(fmt::format("{}: ", origin));
}

}  // namespace cg2d
