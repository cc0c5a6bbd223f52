#include "cg/report/sweep_record.hpp"

#include "cg/report/session_record.hpp"

namespace cg2d {
namespace {

Record<SweptRun> asked_record(bool is_system) {
  Record<SweptRun> record{
      "asked", {}, "As asked for; the run's own configuration has the values that were chosen."};
  if (is_system) {
    record.figures.push_back({"form", name_type(), [](const auto& run) { return run.asked.form; },
                              "matrix; without one: domain PXxPYxPZ, or factors."});
  } else {
    record.figures.push_back(
        {"class", class_type(), &SweptRun::problem_class, "With U, problem has the numbers."});
  }
  record = with(record, {{"columns", positive_count_type(),
                          [](const auto& run) { return run.asked.configuration.grid.columns; }},
                         {"rows", positive_count_type(),
                          [](const auto& run) { return run.asked.configuration.grid.rows; }}});
  return with(record, figures_of_part<SweptRun>(
                          axis_record(AxesIn::a_sweep),
                          [](const SweptRun& run) -> const auto& { return run.asked.configuration; }));
}

Record<SweptRun> make_record(bool is_system) {
  return {
      "sweep",
      {{"key", name_type(), [](const auto& run) { return run.asked.key(); },
        "The unique text of the configuration."},
       {"round", positive_count_type(), &SweptRun::round},
       {"attempt", positive_count_type(), &SweptRun::attempt,
        "In the round; a disturbed run is repeated, and the last attempt counts."},
       {"rounds", positive_count_type(), &SweptRun::round_count, "As many as were asked for."},
       {"duration_s", seconds_type(), &SweptRun::duration_s, "The whole run, with its set-up."},
       {"session", line_type(), &SweptRun::session,
        "The sweep of the file, with all its resumptions: runs of different sessions are not compared."},
       {"sitting", positive_count_type(), &SweptRun::sitting,
        "The call of cg2d sweep, by number, that made the run: runs of one round and sitting were made in "
        "turns."},
       part<SweptRun>("configuration", asked_record(is_system), std::identity()),
       {"purpose", word_type({"counters", "limits", "trace"}),
        [](const auto& run) {
          return run.purpose == RunPurpose::time ? Json(nullptr) : Json(purpose_name(run.purpose));
        },
        "Without it: a timed run. Otherwise made after all timed runs, and not compared with them; the "
        "object counters or roofline of this line has what it is for, trace_file names the trace.",
        Presence::if_known},
       {"trace_file", line_type(),
        [](const auto& run) {
          return run.purpose == RunPurpose::trace ? Json(run.trace_file) : Json(nullptr);
        },
        "Only with purpose trace.", Presence::if_known}},
      "In a line of cg2d sweep's file only: the run that was asked for. Each configuration is there in "
      "each round, with one line for each attempt."};
}

}  // namespace

const Record<SweptRun>& sweep_record(bool is_system) {
  static const auto of_benchmark = make_record(false);
  static const auto of_system = make_record(true);
  return is_system ? of_system : of_benchmark;
}

}  // namespace cg2d
