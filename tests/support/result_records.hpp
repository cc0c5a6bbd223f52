#pragma once

// Records and lines of results, for tests of what reads them.

#include <string>
#include <vector>

#include "cg/report/report.hpp"
#include "cg/report/result_file.hpp"
#include "cg/studies/sweep_file.hpp"

namespace cg2d::test {

inline SweepConfiguration configuration_on(int columns, int rows) {
  return {.problem = "S",
          .grid = {.columns = columns, .rows = rows},
          .kernel = "auto",
          .transport = "two-sided",
          .thread_count = 1};
}

/// A run that took that long, on that grid.
inline ResultRecord record_of(int columns, int rows, double time_s, int round = 1) {
  ResultRecord record;
  record.configuration = configuration_on(columns, rows);
  record.round = round;
  record.status = "success";
  record.kernel_used = "sell";
  record.n = 1400;
  record.times_s = {time_s};
  record.time_s = time_s;
  record.maker = "this machine";
  return record;
}

/// The same as a run that failed.
inline ResultRecord failed_record_of(int columns, int rows, const std::string& status) {
  auto record = record_of(columns, rows, 1.0);
  record.status = status;
  record.reason = "for a reason";
  record.exit_code = 82;
  record.times_s.clear();
  return record;
}

/// A line of a sweep's file: a run that could not begin, which is all that can be had without one.
inline std::string line_of(int columns, int rows, int round) {
  RunReport report;
  report.code = ExitCode::memory;
  report.reason = "not enough memory";
  report.problem = *find_class("S");
  return sweep_line(report_format("json").write(report),
                    {.configuration = configuration_on(columns, rows), .round = round}, 3, 0.25);
}

}  // namespace cg2d::test
