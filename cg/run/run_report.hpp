#pragma once

// The result of one run, the state that it is saved as, and the figures that follow from it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/session_report.hpp"
#include "cg/solver/npb_iteration.hpp"

namespace cg2d {

/// The state that a run is saved as, and that a restarted one begins with, besides x. Alike on every rank.
struct RestartFacts {
  FoundCheckpoint checkpoint{};
  Problem problem{};
  CurvatureSigns signs{};                  ///< of p . A p
  std::vector<OuterStep> earlier_steps{};  ///< the outer iterations that are not done again

  int step_count() const { return static_cast<int>(earlier_steps.size()); }
  /// The state depends on nothing else. Files keep the value.
  uint64_t problem_hash() const;
};
class Members;
/// The state that the files have.
void describe(Members& m, RestartFacts& restart);

/// The state in a checkpoint of this problem. Throws RunError (bad_data), alike on every rank, where it is of another one.
RestartFacts restart_facts(FoundCheckpoint checkpoint, const Problem& problem);

/// The result of one run of the benchmark.
struct RunReport : SessionReport {
  bool converted = false;  ///< the kernel's format is not the CSR that was generated
  bool phases_timed = false;
  bool is_verbose = false;
  Problem problem;
  /// By the calibrated description of this machine; on rank 0 only, and only where there is one.
  std::optional<Prediction> prediction;

  int64_t nonzero_count = 0;
  SourceFacts source_facts;
  double generation_s = 0.0;
  double conversion_s = 0.0;            ///< from the generated block to a kernel that is ready
  std::optional<RestartFacts> restart;  ///< with --restart

  std::vector<RepeatReport> repeats;  ///< complete ones only; after a restart the outer iterations since
  std::vector<OuterStep> unfinished;  ///< steps of a repetition that did not end
};

/// Why times of a report are disturbed, in one line: of all repeats. Empty where none is.
std::string disturbance(const RunReport& report);

/// Figures that follow from a report with at least one repeat.
const RepeatReport& median_repeat(const RunReport& report);
RepeatReport& median_repeat(RunReport& report);
/// Mop/s of a repetition by the official operation count.
double mops_of(const RunReport& report, const RepeatReport& repeat);
/// The error of zeta; nothing without a reference, and where not all repetitions are complete.
std::optional<double> relative_error(const RunReport& report, const RepeatReport& repeat);
/// The times of all repeats.
Sample repeat_times(const RunReport& report);
/// The problem with as many outer iterations as were timed: fewer than all after a restart. For counts of work.
Problem timed_part(const RunReport& report);
/// CG steps of one repetition, as far as they were timed.
double cg_step_count(const RunReport& report);
/// The last zeta and residual of the repetition reported.
const OuterStep& final_step(const RunReport& report);

/// The row lengths of all ranks' blocks.
RowLengths all_row_lengths(const RunReport& report);

}  // namespace cg2d
