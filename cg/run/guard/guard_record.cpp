#include "cg/run/guard/guard_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

const Record<GuardReport>& checks_record() {
  static const auto record = [] {
    Record<GuardReport> made;
    for (std::size_t check = 0; check < guard_check_count; ++check)
      made.figures.push_back(
          {std::string(guard_check_names[check]), defined("guard_check"), [check](const auto& guard) {
             return json_of(guard_check_record(), SeenCheck{guard, check});
           }});
    return made;
  }();
  return record;
}

/// The place of a detection or of a fault. A solve has no outer iterations: its place is an iteration.
template <typename Placed>
Record<Placed> place_record(WorkKind kind) {
  Record<Placed> record{{{"rank", count_type(), &Placed::rank}}};
  if (kind == WorkKind::solve) {
    record.figures.push_back(
        {"iteration", count_type(), &Placed::product, "From 1; of a detection: the last one before it."});
    return record;
  }
  record.figures.push_back(
      {"outer_step", count_type(), &Placed::outer_step, "From 1; 0 is the untimed one."});
  record.figures.push_back(
      {"product",
       {{"type", "integer"}, {"minimum", 0}, {"maximum", 26}},
       &Placed::product,
       "Of the outer iteration, from 1: the number of the CG step, or 26 for the residual."});
  return record;
}

template <typename Placed>
Record<Placed> with(Record<Placed> record, std::vector<Figure<Placed>> more) {
  std::ranges::move(more, std::back_inserter(record.figures));
  return record;
}

Record<Detection> detection_record(WorkKind kind) {
  return with(
      place_record<Detection>(kind),
      {{"check",
        {{"enum", std::vector<std::string>(guard_check_names.begin(), guard_check_names.end())}},
        [](const auto& found) { return name_of(found.check); }},
       {"error", defined("finite_or_null"), [](const auto& found) { return number_or_null(found.error); }},
       {"tolerance", defined("finite_or_null"),
        [](const auto& found) { return number_or_null(found.tolerance); }}});
}

Record<Fault> fault_record(WorkKind kind) {
  const auto* const solution = kind == WorkKind::solve ? "x" : "z";
  return with(place_record<Fault>(kind),
              {{"target", word_type({"A", "columns", "p", "r", solution, "block q", "q", "rho"}),
                [](const auto& fault) { return target_name(fault); }},
               {"made", flag_type(), &Fault::is_made,
                "False where the run did not come to it, or had no such element."},
               {"element", count_type(), &Fault::element, "Of the array of the rank, from 0."},
               {"bit",
                {{"type", "integer"}, {"minimum", 0}, {"maximum", 63}},
                &Fault::bit,
                "Of the element, from the lowest one."}});
}

Record<GuardReport> make_guard_record(WorkKind kind) {
  const auto detections = detection_record(kind);
  const bool of_solve = kind == WorkKind::solve;
  return {
      {{"checks", schema_of(checks_record()),
        [](const auto& guard) { return json_of(checks_record(), guard); },
        "Those of all ranks together, what is not timed included."},
       {"detections", list_type(schema_of(detections)),
        [detections](const auto& guard) { return json_of_all(detections, guard.detections); },
        of_solve ? "The first one of each attempt at a part of the solve that was given up."
                 : "The first one of each attempt at an outer iteration that was given up."},
       {"rollbacks", count_type(), &GuardReport::rollback_count,
        of_solve ? "Parts of the solve that were made again."
                 : "Attempts at outer iterations that were made again."},
       {"time_s", seconds_type(), &GuardReport::time_s,
        "Of checks in all that is timed, on the rank where they took longest."},
       {"time_share", seconds_type(), &GuardReport::time_share,
        of_solve ? "Of the time of the solve." : "Of the time of all finished repetitions; 0 without one."}}};
}

Record<GuardReport> make_injected_record(WorkKind kind) {
  const auto faults = fault_record(kind);
  return {{{"seed", count_type(), [](const auto& guard) { return guard.options.inject.seed; }},
           {"flips", list_type(schema_of(faults), 1),
            [faults](const auto& guard) { return json_of_all(faults, guard.faults); },
            "As drawn, in the order of their times."}}};
}

}  // namespace

const Record<SeenCheck>& guard_check_record() {
  static const Record<SeenCheck> record{{
      {"count", count_type(), [](const auto& seen) { return seen.guard.check_counts[seen.check]; }},
      {"largest_ratio",
       {{"type", "number"}, {"minimum", 0}, {"maximum", 1}},
       [](const auto& seen) { return number_or_null(seen.guard.largest_ratios[seen.check]); },
       "Of an error to its tolerance, where it held; 0 for checks that say only yes or no."},
  }};
  return record;
}

const Record<GuardReport>& guard_record(WorkKind kind) {
  static const auto of_run = make_guard_record(WorkKind::outer_iterations);
  static const auto of_solve = make_guard_record(WorkKind::solve);
  return kind == WorkKind::solve ? of_solve : of_run;
}

const Record<GuardReport>& injected_record(WorkKind kind) {
  static const auto of_run = make_injected_record(WorkKind::outer_iterations);
  static const auto of_solve = make_injected_record(WorkKind::solve);
  return kind == WorkKind::solve ? of_solve : of_run;
}

Record<SessionReport> guard_sections(WorkKind kind) {
  const auto section = [](const SessionReport& report, bool GuardOptions::*is_there, const auto& record) {
    const auto* const guard = report.features.find<GuardReport>();
    return guard != nullptr && guard->options.*is_there ? json_of(record, *guard) : absent();
  };
  return {{{"guard", defined("guard"),
            [section, kind](const auto& report) {
              return section(report, &GuardOptions::checks, guard_record(kind));
            },
            "", Presence::if_known},
           {"injected", defined("injected"),
            [section, kind](const auto& report) {
              return section(report, &GuardOptions::injects, injected_record(kind));
            },
            "", Presence::if_known}}};
}

std::string guard_text(const GuardReport& guard) {
  std::string text;
  constexpr std::size_t most_lines = 20;
  if (guard.options.injects) {
    const auto made = std::ranges::count_if(guard.faults, &Fault::is_made);
    text += fmt::format(" Injected        = {} of {} (seed {})\n", made,
                        format_count(std::ssize(guard.faults), "bit flip"), guard.options.inject.seed);
    for (std::size_t k = 0; k < std::min(guard.faults.size(), most_lines); ++k)
      text += fmt::format("   {}\n", describe(guard.faults[k]));
  }
  if (!guard.options.checks) return text;
  text += fmt::format(" Guard           = {}, {}, {}", format_count(guard.check_count(), "check"),
                      format_count(std::ssize(guard.detections), "detection"),
                      format_count(guard.rollback_count, "rollback"));
  if (guard.time_share > 0.0) text += fmt::format(", {:.2f} % of the time", 100.0 * guard.time_share);
  text += '\n';
  for (std::size_t k = 0; k < std::min(guard.detections.size(), most_lines); ++k)
    text += fmt::format("   {}\n", describe(guard.detections[k]));
  return text;
}

}  // namespace cg2d
