// The list of `cg2d events`.

#include <fmt/ranges.h>

#include "cg/base/describe_json.hpp"
#include "cg/base/table.hpp"
#include "cg/report/report.hpp"

namespace cg2d {

void describe(Members& m, EventList& list) {
  m.constant("schema_version", 1);
  m.derived("papi", or_null("null: the program was built without PAPI"), [] { return papi_version(); });
  m("remedy", list.remedy, meaning("What would make more events of the processor countable."));
  m.list("groups", list.groups, {.fewest = 1}, [&](ResolvedEvents& resolved, size_t place) {
    m.derived("name", group_table()[place].name);
    m.derived("description", group_table()[place].description);
    m("events", resolved.names, meaning("Those that stand for the group here."));
    m("refused", resolved.refused, meaning("Purposes of the group that no event serves here."));
  });
  m.list("events", list.events, {.fewest = 1}, [&](KnownEvent& event, size_t /*index*/) {
    m("name", event.name, not_empty());
    m("family", event.family,
      meaning("preset: PAPI's; generic: the kernel's names; native: this processor's; software: "
              "the kernel's own."));
    m("description", event.description);
    m.derived("kind", event_kind_name(event_kind(event.name)));
    m.derived("status",
              !event.why_not.empty() ? "refused"
              : event.is_unproven()  ? "unproven"
                                     : "counts",
              meaning("unproven: countable, but the trial did not raise it."));
    m("reason", event.why_not, meaning("Why it is refused; else empty."));
    m("trial_count", event.trial_count);
  });
}

std::string write_event_list(const std::string& format, bool shows_all) {
  EventList list;
  list.events = known_events();
  list.remedy = counting_remedy();
  for (const auto& group : group_names()) list.groups.push_back(resolve_groups({group}, why_not_counted));
  if (format == "json") return document_text(list);
  const auto countable =
      std::ranges::count_if(list.events, [](const auto& event) { return event.why_not.empty(); });
  const auto refused = std::ssize(list.events) - countable;
  Table groups;
  for (size_t place = 0; place < list.groups.size(); ++place) {
    const auto& names = list.groups[place].names;
    groups.line().word("group", group_table()[place].name).word("purpose", group_table()[place].description);
    groups.word("events", names.empty() ? "nothing here" : fmt::format("{}", fmt::join(names, ", ")));
  }
  Table events;
  for (const auto& event : list.events) {
    if (!shows_all && !event.why_not.empty()) continue;
    const std::string note = event.is_unproven() ? "0 in the trial, which may not raise it" : event.why_not;
    events.line().word("event", event.name).word("family", name_in(words_of(event.family), event.family));
    events.word("description", event.description + (note.empty() ? note : fmt::format(" [{}]", note)));
  }
  auto text =
      fmt::format("\n cg2d events - {} can be counted on this node, {} cannot; PAPI {}\n\n{}\n{}",
                  format_count(countable, "event"), refused, *papi_version(), groups.text(), events.text());
  if (refused > 0) {
    text += fmt::format("\n For more events of the processor: {}\n", list.remedy);
    if (!shows_all) text += " cg2d events --all also lists what cannot be counted here, with the reason\n";
  }
  return text;
}

}  // namespace cg2d
