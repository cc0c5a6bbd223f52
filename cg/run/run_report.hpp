#pragma once

// Results: the part that does not depend on what was measured, that of a run of the benchmark, and that of a solve; the states that
// they are saved as, and the figures that follow from them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/library/solution.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/noise_monitor.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/guard/guard_report.hpp"
#include "cg/run/streaming/out_of_core.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/lanczos.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "cg/solver/vector_ops.hpp"
#include "cg/timing/events.hpp"
#include "cg/timing/phase_timer.hpp"
#include "cg/tuning/trial.hpp"
#include "comm/communicator.hpp"
#include "comm/waiter.hpp"

namespace cg2d {

/// One rank's clocks over one timed region. Trivially copyable: ranks send it as it is.
struct RankTimes {
  PhaseRecords phases;
  std::array<comm::Traffic, comm::operation_count> sent;
  uint64_t region_clocks = 0;
  uint64_t wait_count = 0;
  double region_s = 0.0;
  VectorWork dot_work;
  VectorWork update_work;

  /// The operation of the phase; nothing where it has none.
  comm::Traffic sent_in(Phase phase) const {
    const auto operation = operation_of(phase);
    return operation ? sent[static_cast<size_t>(*operation)] : comm::Traffic();
  }
};

/// One timed run of all outer iterations.
struct RepeatReport {
  double time_s = 0.0;  ///< the slowest rank's
  std::vector<OuterStep> steps;
  std::vector<RankTimes> ranks;
  std::vector<RankCounts> counts;  ///< of each rank; empty: no events were counted
  QuietResult quiet;
};

/// The limits of one rank while all ranks work.
struct MachineLimits {
  double matrix_bytes_per_s = 0.0;     ///< reading as many bytes as the rank's matrix has, over and over
  double vector_bytes_per_s = 0.0;     ///< the same with the rank's vectors
  double flops_per_s = 0.0;            ///< fused multiply-adds in registers
  double storage_bytes_per_s = 0.0;    ///< reading panels of a streamed matrix; 0: none is streamed
  int64_t matrix_footprint_bytes = 0;  ///< bytes that matrix_bytes_per_s was measured with
  int64_t vector_footprint_bytes = 0;  ///< bytes that vector_bytes_per_s was measured with

  /// False if no time was measured.
  bool are_known() const { return flops_per_s > 0.0; }
};

/// One rank's block, memory and costs of timing.
struct RankResult {
  int64_t nonzero_count = 0;  ///< of the whole block, whatever the kernel stores of it
  RowLengths row_lengths;     ///< of the whole block, too
  int64_t csr_bytes = 0;      ///< the whole block as it was generated
  int64_t block_bytes = 0;    ///< in the format of the kernel
  int64_t peak_bytes = 0;
  int64_t resident_bytes = 0;   ///< at the end of the run
  int64_t huge_page_bytes = 0;  ///< of them, in huge pages
  double ticks_per_second = 0.0;
  double clocks_per_scope = 0.0;
  double clocks_per_reading = 0.0;  ///< of the counters
  /// The least work of one product in each phase that multiplies: the matrix, where there is one, and vectors
  /// over its rows and columns.
  std::array<VectorWork, phase_count> product_work{};
  double streamed_bytes_per_product = 0.0;  ///< with --out-of-core
  MachineLimits limits;                     ///< with --roofline
};

/// The events that were counted; all is empty where none was asked for.
struct CounterResult {
  std::vector<std::string> asked{};
  std::vector<std::string> counted{};
  std::vector<RefusedEvent> refused{};
  bool multiplexed = false;
  bool counts_all_threads = false;
};

/// A rank around a new cut. After: 0 where no outer iteration came after it.
struct MovedRank {
  int rank = 0;
  int64_t nonzeros_before = 0;
  double before_s = 0.0;  ///< of its products in an outer iteration, mean of the last before it
  int64_t nonzeros_after = 0;
  double after_s = 0.0;  ///< mean of those after it
};

/// One time that the matrix was repartitioned.
struct Move {
  int repeat_number = 1;
  int after_step = 0;     ///< outer iteration
  int slowest_rank = 0;   ///< whose products took longest
  double slowness = 1.0;  ///< how many times as long as the mean of all
  double before_s = 0.0;  ///< of the slowest rank's products in an outer iteration, mean of those before
  double after_s = 0.0;   ///< mean of those after it; 0: there were none
  double cost_s = 0.0;    ///< of the move itself
  double gained_s = 0.0;  ///< by all after it, less the cost
  int steps_after = 0;
  std::vector<MovedRank> ranks{};
};

/// The results of features; where one was not used, its result is as it is made here.
struct FeatureResults {
  CheckpointFacts checkpoints;
  OutOfCoreFacts out_of_core;
  GuardReport guard;
  SlowRanks slow_ranks;
  std::optional<std::vector<Move>> moves;  ///< of --rebalance on
};

/// The common part of the reports of runs and solves.
struct SessionReport {
  ExitCode code = ExitCode::success;
  std::string reason;  ///< one line, empty on success
  std::vector<std::string> warnings;
  comm::WaitMode wait_mode = comm::WaitMode::spin;  ///< of ranks in the timed region
  bool is_resolved = false;  ///< no value of the configuration is open any more: the work came to its product
  bool grid_is_automatic = false;
  bool is_streamed = false;   ///< the matrix was never in memory as a whole
  bool is_symmetric = false;  ///< the kernel stores one entry of each mirrored pair
  /// The requested configuration; an open value is replaced when it is chosen.
  Configuration configuration;
  std::optional<GridTrial> grid_trial;  ///< where one was asked for
  ChoiceOrigin transport_origin = ChoiceOrigin::asked_for;
  std::optional<TransportTrial> transport_trial;  ///< with --transport auto
  std::optional<SpeedTrial> speed_trial;          ///< with --cut speed
  std::optional<KernelTrial> kernel_trial;        ///< with --kernel auto, of a matrix of any pattern
  std::string instruction_set;
  ChosenKernel kernel_choice;
  LoadedProfile profile;
  std::optional<Environment> environment;
  std::optional<Provenance> provenance;  ///< on rank 0
  std::optional<BindingResult> binding;  ///< unless the work ended before it
  std::vector<RankResult> ranks;
  CounterResult counters;
  FeatureResults features;

  template <typename... Parts>
  void warn(fmt::format_string<Parts...> text, Parts&&... parts) {
    warnings.push_back(fmt::format(text, std::forward<Parts>(parts)...));
  }
  /// Notes why the work ended.
  void record_failure(const RunError& error) {
    code = error.code();
    reason = error.what();
  }
};

/// Why the counts of an event of the processor in a repetition are not to be trusted: there are none. Empty: no doubt.
std::string doubt_about(const CounterResult& counters, const RepeatReport& repeat, size_t event);

/// Share of the timed region that the phases cover, mean over ranks.
double phase_coverage(const RepeatReport& repeat);
/// Share of the timed region that reading the counter took, mean over ranks.
double timing_share(std::span<const RankResult> ranks, const RepeatReport& repeat);

// ---------------------------------------------------------------- the roofline of every phase: its work, and the limits of this machine

/// The least work of one phase of one rank in the timed region: a matrix or vector element
/// counts once for each time that an operation reads or writes it, a message once where it is read and once
/// where it is written.
struct PhaseWork {
  double byte_count = 0.0;
  double flop_count = 0.0;
  double storage_byte_count = 0.0;  ///< read from storage
};
std::array<PhaseWork, phase_count> work_of(const RankResult& rank, const RankTimes& times);

/// A lower bound for the seconds of a phase: the longest of reading from storage, moving and computing.
double shortest_time_s(Phase phase, const PhaseWork& work, const MachineLimits& limits);

// ---------------------------------------------------------------- a run of the benchmark

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

// ---------------------------------------------------------------- a solve

/// The state that a solve goes on from, besides its vectors. Alike on every rank.
struct SolveRestart {
  FoundCheckpoint checkpoint{};
  CgState state{};
  double replaced_norm = 0.0;
  std::vector<StepNumbers> steps{};
};
/// The state that the files have.
void describe(Members& m, SolveRestart& restart);

/// The state in a checkpoint of that system, by its hash and order; text: of the system, for people. Throws RunError (bad_data), alike on
/// every rank, where it is of a run or of another system.
SolveRestart solve_restart(FoundCheckpoint checkpoint, const CheckpointHeader& system,
                           const std::string& text);

/// The largest and the mean number of nonzeros of a rank's block.
struct BlockBalance {
  int64_t largest = 0;
  double mean = 0.0;
  double imbalance() const { return mean > 0.0 ? static_cast<double>(largest) / mean - 1.0 : 0.0; }
};

struct MatrixResult {
  std::string name;
  int64_t order = 0;
  int64_t nonzero_count = 0;
  std::optional<Symmetrization> symmetrization{};  ///< with --symmetrize
  double read_s = 0.0;                             ///< from the first byte to rows that are checked
  double distribute_s = 0.0;                       ///< from the rows to blocks
  double conversion_s = 0.0;                       ///< from the blocks to kernels that are ready
  double preconditioner_s = 0.0;                   ///< to make it, from the blocks on
  BlockBalance balance;
  /// The balance of even pieces, or, where these are taken, of pieces by nonzeros; of a matrix in memory.
  std::optional<BlockBalance> other_balance{};
};

/// A solve without an assembled matrix.
struct MatrixFreeResult {
  std::string arrangement;      ///< "domain 1x2x2", "grid 2x3"
  std::vector<Phase> phases{};  ///< of an iteration
};

/// The result of one solve.
struct SolveReport : SessionReport {
  std::optional<MatrixResult> matrix;           ///< once it is read or made
  std::optional<MatrixFreeResult> matrix_free;  ///< unless there is a matrix
  int right_hand_side_count = 1;
  std::optional<SolveRestart> restart;  ///< with --restart
  std::optional<Solution> solution;     ///< the one with the worst end, the first of equals
  std::vector<Solution> solutions;      ///< one of each right-hand side, where there are several
  RepeatReport repeat;                  ///< times and phases of the solve
  std::optional<QuietResult> quiet;     ///< of the timed region, where the solve came to it
};

/// Iterations of the whole solve: several right-hand sides iterate together.
inline int step_count_of(const SolveReport& report) {
  int count = report.solution ? report.solution->result.step_count : 0;
  for (const auto& solution : report.solutions) count = std::max(count, solution.result.step_count);
  return count;
}
/// Those of them that were timed: the ones since a restart.
inline int timed_step_count(const SolveReport& report) {
  return step_count_of(report) - (report.restart ? report.restart->state.number : 0);
}

}  // namespace cg2d
