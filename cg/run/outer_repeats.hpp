#pragma once

// The repetitions of a run: outer iterations that are timed, as often as they are asked for.

#include <optional>
#include <string>
#include <vector>

#include "cg/base/interrupt.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/region_measurement.hpp"
#include "cg/run/run_checkpoints.hpp"
#include "cg/run/run_options.hpp"
#include "cg/run/run_report.hpp"
#include "cg/run/session.hpp"
#include "cg/run/workload.hpp"
#include "cg/solver/npb_solver.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

using RunParts = WorkParts<RunOptions, RunReport>;

/// The solver that is repeated.
struct RepeatedSolver {
  NpbSolver& solver;
  GuardHooks* guard = nullptr;              ///< of it
  const comm::IndexRange* piece = nullptr;  ///< of its vectors: this rank's at each time
};

/// Holds references: all must outlive it. Collective.
class OuterRepeats {
 public:
  /// Takes this rank's part of the state to go on from, and rehearses a checkpoint. Throws as restarted_x() and CheckpointSaver::rehearse().
  OuterRepeats(const RunParts& run, const RepeatedSolver& repeated, RegionMeasurement& measurement);

  /// The untimed first iteration, which touches every page and every path, and all repetitions, into the report. False: they ended early,
  /// and the report says why.
  bool perform();

 private:
  void reset();
  [[nodiscard]] int repeats_in_all() const;
  bool perform_one(int repeat_number);
  void expect_steps(int repeat_number) const;
  void end_early(const std::vector<OuterStep>& steps, const std::string& where);

  const RunOptions& options_;
  const Progress& progress_;
  RunReport& report_;
  Session& session_;
  NpbSolver& solver_;
  GuardHooks* guard_;
  RegionMeasurement& measurement_;
  int earlier_count_;  // outer iterations before a restart
  /// From the first iteration on, until the results are written: they are not given up for a late signal.
  std::optional<InterruptWatch> watch_;
  std::optional<RunCheckpoints> checkpoints_;
  HugePageVector restarted_x_;  // this rank's piece, of a checkpoint
  double first_step_s_ = 0.0;   // the untimed outer iteration
};

}  // namespace cg2d
