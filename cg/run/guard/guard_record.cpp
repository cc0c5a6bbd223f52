#include "cg/run/guard/guard_record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

const Record<GuardReport>& checks_record() {
  static const auto record = [] {
    Record<GuardReport> made{"guard_checks", {}};
    for (std::size_t check = 0; check < guard_check_count; ++check)
      made.figures.push_back(part<GuardReport>(std::string(guard_check_names[check]), guard_check_record(),
                                               [check](const GuardReport& guard) {
                                                 return SeenCheck{guard, check};
                                               }));
    return made;
  }();
  return record;
}

/// The place of a detection or of a fault. A solve has no outer iterations: its place is an iteration.
template <typename Placed>
Record<Placed> place_record(std::string name, WorkKind kind) {
  Record<Placed> record{std::move(name), {{"rank", count_type(), &Placed::rank}}};
  if (kind == WorkKind::solve)
    return with(record, {{"iteration", count_type(), &Placed::product,
                          "From 1; of a detection: the last one before it."}});
  return with(record,
              {{"outer_step", count_type(), &Placed::outer_step, "From 1; 0 is the untimed one."},
               {"product", integer_type(0, 26), &Placed::product,
                "Of the outer iteration, from 1: the number of the CG step, or 26 for the residual."}});
}

Record<Detection> detection_record(WorkKind kind) {
  return with(place_record<Detection>("detection", kind),
              {{"check", word_type({guard_check_names.begin(), guard_check_names.end()}),
                [](const auto& found) { return name_of(found.check); }},
               {"error", finite_type(), [](const auto& found) { return found.error; }},
               {"tolerance", finite_type(), [](const auto& found) { return found.tolerance; }}});
}

Record<Fault> fault_record(WorkKind kind) {
  const auto* const solution = kind == WorkKind::solve ? "x" : "z";
  return with(place_record<Fault>("flip", kind),
              {{"target", word_type({"A", "columns", "p", "r", solution, "block q", "q", "rho"}),
                [](const auto& fault) { return target_name(fault); }},
               {"made", flag_type(), &Fault::is_made,
                "False where the run did not come to it, or had no such element."},
               {"element", count_type(), &Fault::element, "Of the array of the rank, from 0."},
               {"bit", integer_type(0, 63), &Fault::bit, "Of the element, from the lowest one."}});
}

Record<GuardReport> make_guard_record(WorkKind kind) {
  const bool of_solve = kind == WorkKind::solve;
  return {
      "guard",
      {part<GuardReport>("checks", checks_record(), std::identity(),
                         "Those of all ranks together, what is not timed included."),
       list_figure<GuardReport>(
           "detections", detection_record(kind), &GuardReport::detections,
           of_solve ? "The first one of each attempt at a part of the solve that was given up."
                    : "The first one of each attempt at an outer iteration that was given up."),
       {"rollbacks", count_type(), &GuardReport::rollback_count,
        of_solve ? "Parts of the solve that were made again."
                 : "Attempts at outer iterations that were made again."},
       {"time_s", seconds_type(), &GuardReport::time_s,
        "Of checks in all that is timed, on the rank where they took longest."},
       {"time_share", seconds_type(), &GuardReport::time_share,
        of_solve ? "Of the time of the solve." : "Of the time of all finished repetitions; 0 without one."}}};
}

Record<GuardReport> make_injected_record(WorkKind kind) {
  return {"injected",
          {{"seed", count_type(), [](const auto& guard) { return guard.options.inject.seed; }},
           list_figure<GuardReport>("flips", fault_record(kind), &GuardReport::faults,
                                    "As drawn, in the order of their times.", 1)}};
}

}  // namespace

const Record<SeenCheck>& guard_check_record() {
  static const Record<SeenCheck> record{
      "guard_check",
      {
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
  const auto guard_of = [](bool GuardOptions::*is_asked) {
    return [is_asked](const SessionReport& report) {
      const auto* const guard = report.features.find<GuardReport>();
      return guard != nullptr && guard->options.*is_asked ? guard : nullptr;
    };
  };
  return {
      {part<SessionReport>("guard", guard_record(kind), guard_of(&GuardOptions::checks),
                           "Only with --guard, of work that came to its iterations.", Presence::if_known),
       part<SessionReport>("injected", injected_record(kind), guard_of(&GuardOptions::injects),
                           "Only with --inject, of work that came to its iterations.", Presence::if_known)}};
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
