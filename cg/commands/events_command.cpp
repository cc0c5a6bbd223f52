// cg2d events: the events that can be counted on this machine.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/text_format.hpp"
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

class EventsSubcommand final : public Subcommand {
 public:
  void add_options(CLI::App&) override {}
  [[nodiscard]] Action action() const override {
    return [](comm::RankGroup& group) {
      agree_on(group, [&] {
        if (group.rank() != 0) return;
        OutputFile output("");
        output.write(list_events());
        output.commit();
      });
      return ExitCode::success;
    };
  }
};

}  // namespace

SubcommandRow events_subcommand() {
  return {.name = "events",
          .description = "list the events that cg2d run --papi can count on this machine",
          .make = []() -> std::unique_ptr<Subcommand> { return std::make_unique<EventsSubcommand>(); }};
}

}  // namespace cg2d
