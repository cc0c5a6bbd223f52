#include "cg/timing/papi_counters.hpp"

#include <fmt/format.h>
#include <papi.h>

#include <algorithm>
#include <string_view>

#include "cg/base/errors.hpp"
#include "cg/timing/papi_events.hpp"
#include "cg/timing/papi_library.hpp"

namespace cg2d {
namespace {

std::string reason_of(int error) {
  if (const auto disabled = why_papi_is_disabled(); !disabled.empty())
    return fmt::format("PAPI does not know this processor: {}; {}", disabled, counting_remedy());
  if (error == PAPI_ECNFLCT)
    return fmt::format("PAPI: {}; ask for fewer events, or for --papi-multiplex", PAPI_strerror(error));
  return fmt::format("PAPI: {}; {}", PAPI_strerror(error), counting_remedy());
}

static_assert(sizeof(CounterValues::value_type) == sizeof(long long));

}  // namespace

PapiCounters::PapiCounters(const std::vector<std::string>& event_names, bool multiplexed) {
  start_papi();
  make_set(multiplexed);
  for (const auto& name : event_names) add(name);
  start();
  if (const auto still = standing_still(); !still.empty()) {
    for (const auto& name : still)
      refused_.push_back({.name = name, .reason = std::string(papi_stands_still)});
    const auto names = event_names_;
    stop();
    event_names_.clear();
    make_set(multiplexed);
    for (const auto& name : names) {
      if (std::find(still.begin(), still.end(), name) == still.end()) add(name);
    }
    start();
  }
}

PapiCounters::~PapiCounters() { stop(); }

void PapiCounters::stop() {
  CounterValues values{};
  if (!event_names_.empty()) PAPI_stop(event_set_, reinterpret_cast<long long*>(values.data()));
  PAPI_cleanup_eventset(event_set_);
  PAPI_destroy_eventset(&event_set_);
}

void PapiCounters::make_set(bool multiplexed) {
  const auto require = [](int result, std::string_view what) {
    if (result == PAPI_OK) return;
    throw RunError(ExitCode::unavailable,
                   fmt::format("--papi: {}: {}; {}", what, PAPI_strerror(result), counting_remedy()));
  };
  if (multiplexed) require(PAPI_multiplex_init(), "PAPI_multiplex_init");
  event_set_ = PAPI_NULL;
  require(PAPI_create_eventset(&event_set_), "PAPI_create_eventset");
  require(PAPI_assign_eventset_component(event_set_, perf_component), "PAPI_assign_eventset_component");
  if (!why_papi_is_disabled().empty()) return;  // every event will be refused with that reason
  if (multiplexed) require(PAPI_set_multiplex(event_set_), "PAPI_set_multiplex");
  PAPI_option_t option{};
  option.inherit.eventset = event_set_;
  option.inherit.inherit = PAPI_INHERIT_ALL;
  inherits_ = PAPI_set_opt(PAPI_INHERIT, &option) == PAPI_OK;
}

void PapiCounters::add(const std::string& event_name) {
  const int result = PAPI_add_named_event(event_set_, event_name.c_str());
  if (result == PAPI_OK) {
    event_names_.push_back(event_name);
  } else {
    refused_.push_back({.name = event_name, .reason = reason_of(result)});
  }
}

void PapiCounters::start() {
  if (event_names_.empty()) return;
  const int result = PAPI_start(event_set_);
  if (result == PAPI_OK) return;
  for (const auto& name : event_names_) refused_.push_back({.name = name, .reason = reason_of(result)});
  event_names_.clear();
}

/// Events that always happen, and did not.
std::vector<std::string> PapiCounters::standing_still() {
  if (std::none_of(event_names_.begin(), event_names_.end(), always_happens)) return {};
  CounterValues before{};
  CounterValues after{};
  read(before);
  work_on_everything();
  read(after);
  std::vector<std::string> still;
  for (std::size_t event = 0; event < event_names_.size(); ++event) {
    if (after[event] == before[event] && always_happens(event_names_[event]))
      still.push_back(event_names_[event]);
  }
  return still;
}

void PapiCounters::read(CounterValues& values) noexcept {
  // A set that has been started can be read; were it not so, the values would stand still, and the report
  // says that nothing was counted.
  if (!event_names_.empty()) PAPI_read(event_set_, reinterpret_cast<long long*>(values.data()));
}

}  // namespace cg2d
