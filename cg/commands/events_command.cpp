// cg2d events: the events that can be counted on this machine.

#include <string>

#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/event_list.hpp"

namespace cg2d {
namespace {

/// The parsed arguments of `cg2d events`.
struct EventsArguments {
  bool shows_all = false;
  std::string format = "text";
  std::string output;  ///< empty: standard output
};

void add_events_options(OptionSet& options, EventsArguments& events) {
  options.add_flag("--all", "also list what cannot be counted here, with the reason", events.shows_all);
  add_result_options(options, events.format, event_list_formats, events.output);
}

Action events_action(EventsArguments& events, const OptionSet& /*given*/) {
  return print_made_text(
      [events] { return write_event_list(list_events(), events.format, events.shows_all); }, events.output);
}

}  // namespace

SubcommandRow events_subcommand() {
  return {.name = "events",
          .description = "list the events that cg2d run --papi can count on this machine",
          .examples = {"cg2d events", "cg2d events --all --format json"},
          .declare = subcommand_with<EventsArguments, add_events_options, events_action>};
}

}  // namespace cg2d
