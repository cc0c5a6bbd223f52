#pragma once

// The descriptions of the parts of a run's result.

#include "cg/base/json_record.hpp"

namespace cg2d {

struct OuterStep;
struct Prediction;
struct Problem;
struct RunReport;
struct SessionReport;

/// In the schema of a run, each is the definition of the name that is given here.
const Record<Problem>& problem_record();        ///< the first members of problem
const Record<RunReport>& run_problem_record();  ///< problem
const Record<SessionReport>& tuning_record();   ///< tuning
const Record<RunReport>& run_setup_record();    ///< setup
const Record<RunReport>& run_result_record();   ///< result; of a report with a repeat
const Record<RunReport>& run_quiet_record();    ///< quiet; of a report with a repeat
const Record<RunReport>& run_restart_record();  ///< restart; of a report with one
const Record<OuterStep>& outer_step_record();   ///< outer_step, without its number
const Record<Prediction>& prediction_record();  ///< prediction

}  // namespace cg2d
