// cg2d events: the events that can be counted on this machine.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cg/base/values.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/timing/papi_counters.hpp"

namespace cg2d {
namespace {

std::string countable_text(const std::vector<KnownEvent>& events) {
  std::string text = "\n Can be counted here (cg2d run --papi EVENT,EVENT):\n";
  for (const auto& event : events) {
    if (event.why_not.empty()) text += fmt::format(" {:<34} {}\n", event.name, event.description);
  }
  return text;
}

std::string refused_text(const std::vector<KnownEvent>& events) {
  std::string text = fmt::format("\n Cannot be counted here - {}:\n", counting_remedy());
  for (const auto& event : events) {
    if (!event.why_not.empty())
      text += fmt::format(" {:<34} {} [{}]\n", event.name, event.description, event.why_not);
  }
  return text;
}

std::string list_events() {
  const auto events = known_events();
  const auto countable =
      std::count_if(events.begin(), events.end(), [](const auto& event) { return event.why_not.empty(); });
  const bool all = countable == std::ssize(events);
  return fmt::format("\n cg2d events - PAPI {}: {} known, {} can be counted on this node\n", papi_version(),
                     format_count(std::ssize(events), "event"), countable) +
         countable_text(events) + (all ? std::string() : refused_text(events));
}

}  // namespace

SubcommandRow events_subcommand() {
  return {.name = "events",
          .description = "list the events that cg2d run --papi can count on this machine",
          .declare = [](CLI::App&) -> std::function<Action()> {
            return [] { return print_made_text(list_events); };
          }};
}

}  // namespace cg2d
