// cg2d events: the events that can be counted on this machine.

#include <CLI/CLI.hpp>
#include <string>

#include "cg/base/values.hpp"
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

void add_events_options(CLI::App& events, EventsArguments& arguments) {
  events.add_flag("--all", arguments.shows_all, "also list what cannot be counted here, with the reason");
  add_format_option(events, arguments.format, event_list_format_names());
  add_file_option(events, "--output", FileUse::writes, arguments.output, "write the list to FILE")
      ->default_str("standard output");
}

Action events_action(const EventsArguments& arguments) {
  require_known("--format", arguments.format, event_list_format_names());
  return print_made_text(
      [arguments] { return write_event_list(list_events(), arguments.format, arguments.shows_all); },
      arguments.output);
}

}  // namespace

SubcommandRow events_subcommand() {
  return {.name = "events",
          .description = "list the events that cg2d run --papi can count on this machine",
          .examples = {"cg2d events", "cg2d events --all --format json"},
          .declare = subcommand_with<EventsArguments, add_events_options, events_action>};
}

}  // namespace cg2d
