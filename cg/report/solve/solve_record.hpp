#pragma once

// The descriptions of the parts of a solve's result.

#include "cg/base/json_record.hpp"

namespace cg2d {

struct BlockBalance;
struct KernelTrial;
struct Solution;
struct SolveReport;
struct SystemOptions;

/// A solve as it was asked for, and what came of it.
struct SolvedSystem {
  const SystemOptions& options;
  const SolveReport& report;
};

/// In the schema of a solve, each is the definition of the name that is given here.
const Record<SolvedSystem>& system_record();        ///< system
const Record<KernelTrial>& kernel_trial_record();   ///< kernel_trial
const Record<BlockBalance>& balance_record();       ///< balance
const Record<SolvedSystem>& solve_setup_record();   ///< setup; of a report with a matrix
const Record<Solution>& solution_record();          ///< solution
const Record<SolveReport>& solve_result_record();   ///< result; of a report with a solution
const Record<SolveReport>& solve_restart_record();  ///< restart; of a report with one

}  // namespace cg2d
