#pragma once

// Records of runs with phases, for tests of what is said about them.

#include <cstddef>

#include "support/result_records.hpp"

namespace cg2d::test {

constexpr double phase_steps = 100.0;

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
    phase.calls = phase_steps;
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
