#pragma once

// Records and lines of results, for tests of their readers and of what is said about them.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "cg/base/describe_json.hpp"
#include "cg/report/report.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/run/run_report.hpp"
#include "cg/studies/sweep.hpp"

namespace cg2d::test {

inline ConfiguredProblem asked_on(int columns, int rows) {
  return {.problem = "S", .configuration = {.grid = {.columns = columns, .rows = rows}, .cut = "even"}};
}

/// A run that took that long, on that grid.
inline ResultRecord record_of(int columns, int rows, double time_s, int round = 1) {
  ResultRecord record;
  record.asked = asked_on(columns, rows);
  record.round = round;
  record.status = "success";
  record.kernel_used = "sell";
  record.n = 1400;
  record.times_s = {time_s};
  record.time_s = time_s;
  record.maker = "this machine";
  record.conditions = record.maker;
  record.is_in_sweep = true;
  return record;
}

/// The record of a run that failed.
inline ResultRecord failed_record_of(int columns, int rows, const std::string& status) {
  auto record = record_of(columns, rows, 1.0);
  record.status = status;
  record.reason = "for a reason";
  record.exit_code = 82;
  record.times_s.clear();
  return record;
}

/// A result in a sweep: that of a run that could not begin, the only kind that exists without a run.
inline nlohmann::ordered_json sweep_json_of(int columns, int rows, int round) {
  RunReport report;
  report.code = ExitCode::memory;
  report.reason = "not enough memory";
  report.problem = *find_class("S");
  return json_of(RunDocument{.report = report,
                             .sweep = SweptRun{.asked = asked_on(columns, rows),
                                               .problem_class = "S",
                                               .round = round,
                                               .round_count = 3,
                                               .duration_s = 0.25,
                                               .session = "a session"}});
}

/// A result as a line of a sweep's file, with its end.
inline std::string sweep_line(const nlohmann::ordered_json& run) { return json_text(run) + "\n"; }

/// The result of sweep_json_of() as a line of the sweep's file.
inline std::string line_of(int columns, int rows, int round) {
  return sweep_line(sweep_json_of(columns, rows, round));
}

inline constexpr double phase_steps = 100.0;

/// A run whose phases take these seconds of a CG step; its time is their sum.
inline ResultRecord phase_record_of(int columns, int rows, const PhaseValues& step_s, int round = 1) {
  double sum = 0.0;
  for (const double seconds : step_s) sum += phase_steps * seconds;
  auto record = record_of(columns, rows, sum, round);
  record.work = RecordedWork{.step_count = phase_steps};
  for (size_t index = 0; index < step_s.size(); ++index) {
    auto& phase = record.work->phases.at(index);
    phase.measured_s = phase_steps * step_s.at(index);
    phase.clocks = 1e9 * phase.measured_s;
  }
  return record;
}

/// A record of phase_record_of() with a counted event in each phase.
inline ResultRecord counted_record_of(int columns, int rows, const PhaseValues& step_s,
                                      const PhaseValues& counts) {
  auto record = phase_record_of(columns, rows, step_s);
  record.purpose = RunPurpose::counters;
  record.slowed_by = "--papi";
  record.events = {{"PAPI_L2_TCM", counts}};
  return record;
}

}  // namespace cg2d::test
