// The events of the processor where cg2d is built without PAPI: there are none, and the kernel's software events are counted as ever.

#include "cg/base/errors.hpp"
#include "cg/timing/papi.hpp"

namespace cg2d {
namespace {

constexpr const char* no_papi = "this cg2d was built without PAPI, which counts the processor's events";

}  // namespace

std::string counting_remedy() {
  return "this cg2d was built without PAPI; build it where PAPI is installed (-DCG2D_WITH_PAPI=ON)";
}

std::optional<std::string> papi_version() { return std::nullopt; }

/// Throws RunError for a name that looks like PAPI's own: nothing tells whether it is misspelt.
bool papi_knows(const std::string& event_name) {
  if (!event_name.starts_with("PAPI_") && event_name.find("::") == std::string::npos) return false;
  throw RunError(ExitCode::unavailable, "--papi: {}: {}; cg2d events lists those of the kernel", event_name,
                 no_papi);
}

std::vector<std::string> papi_event_names() { return {}; }

std::vector<KnownEvent> known_papi_events() { return {}; }

PapiCounters::PapiCounters(const std::vector<std::string>& event_names, bool /*multiplexed*/) {
  for (const auto& name : event_names) refused_.push_back({.name = name, .reason = no_papi});
}

PapiCounters::~PapiCounters() = default;

void PapiCounters::read(CounterValues& /*values*/) noexcept {}

}  // namespace cg2d
