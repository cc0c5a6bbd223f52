// The findings of a guard, and the faults that were made.

#include <algorithm>
#include <iterator>

#include "cg/report/session_record.hpp"
#include "cg/run/guard/guard_report.hpp"

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
Record<Placed> place_record(GuardedWorkload workload) {
  Record<Placed> record{{{"rank", count_type(), &Placed::rank}}};
  if (workload == GuardedWorkload::solve) {
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

Record<Detection> detection_record(GuardedWorkload workload) {
  return with(
      place_record<Detection>(workload),
      {{"check",
        {{"enum", std::vector<std::string>(guard_check_names.begin(), guard_check_names.end())}},
        [](const auto& found) { return name_of(found.check); }},
       {"error", defined("finite_or_null"), [](const auto& found) { return number_or_null(found.error); }},
       {"tolerance", defined("finite_or_null"),
        [](const auto& found) { return number_or_null(found.tolerance); }}});
}

Record<Fault> fault_record(GuardedWorkload workload) {
  const auto* const solution = workload == GuardedWorkload::solve ? "x" : "z";
  return with(place_record<Fault>(workload),
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

Record<GuardReport> make_guard_record(GuardedWorkload workload) {
  const auto detections = detection_record(workload);
  const bool of_solve = workload == GuardedWorkload::solve;
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

Record<GuardReport> make_injected_record(GuardedWorkload workload) {
  const auto faults = fault_record(workload);
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

const Record<GuardReport>& guard_record(GuardedWorkload workload) {
  static const auto of_run = make_guard_record(GuardedWorkload::run);
  static const auto of_solve = make_guard_record(GuardedWorkload::solve);
  return workload == GuardedWorkload::solve ? of_solve : of_run;
}

const Record<GuardReport>& injected_record(GuardedWorkload workload) {
  static const auto of_run = make_injected_record(GuardedWorkload::run);
  static const auto of_solve = make_injected_record(GuardedWorkload::solve);
  return workload == GuardedWorkload::solve ? of_solve : of_run;
}

}  // namespace cg2d
