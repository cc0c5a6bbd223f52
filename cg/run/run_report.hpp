#pragma once

// The result of one run, and the figures that follow from it.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/checkpoint/checkpoint_interval.hpp"
#include "cg/guard/guard_report.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/machine/quiet.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/matrix/row_lengths.hpp"
#include "cg/run/roofline.hpp"
#include "cg/run/run_checkpoints.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/vector_ops.hpp"
#include "cg/streaming/out_of_core.hpp"
#include "cg/timing/events.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/timing/phase_timer.hpp"
#include "cg/tuning/grid_trial.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/transport_choice.hpp"
#include "comm/communicator.hpp"
#include "comm/waiter.hpp"

namespace cg2d {

/// One rank's clocks over one timed region. Trivially copyable: ranks send it as it is.
struct RankTimes {
  PhaseRecords phases;
  std::array<comm::Traffic, comm::operation_count> sent;
  std::uint64_t region_clocks = 0;
  std::uint64_t wait_count = 0;
  double region_s = 0.0;
  VectorWork dot_work;
  VectorWork update_work;
};

/// One timed run of all outer iterations.
struct RepeatReport {
  double time_s = 0.0;  ///< the slowest rank's
  std::vector<OuterStep> steps;
  std::vector<RankTimes> ranks;
  std::vector<RankCounts> counts;  ///< of each rank; empty: no events were counted
  QuietResult quiet;
};

/// One rank's block, memory and costs of timing.
struct RankResult {
  std::int64_t nonzero_count = 0;  ///< of the whole block, whatever the kernel stores of it
  RowLengths row_lengths;          ///< likewise
  std::int64_t csr_bytes = 0;      ///< the whole block as it was generated
  std::int64_t block_bytes = 0;    ///< in the format of the kernel
  std::int64_t peak_bytes = 0;
  std::int64_t resident_bytes = 0;   ///< at the end of the run
  std::int64_t huge_page_bytes = 0;  ///< of them, in huge pages
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
  std::vector<std::string> asked;
  std::vector<std::string> counted;
  std::vector<RefusedEvent> refused;
  bool multiplexed = false;
  bool counts_all_threads = false;
};

struct RunReport {
  ExitCode code = ExitCode::success;
  comm::WaitMode wait_mode = comm::WaitMode::spin;  ///< of ranks in the timed region
  bool is_resolved = false;  ///< no value of the configuration is open any more: the run came to its product
  bool grid_is_automatic = false;
  bool is_symmetric = false;  ///< the kernel stores one entry of each mirrored pair
  bool converted = false;     ///< the kernel's format is not the CSR that was generated
  bool phases_timed = false;
  std::string reason;  ///< one line, empty on success
  std::vector<std::string> warnings;

  TextDetail detail;
  Problem problem;
  /// The requested configuration; an open value is replaced when it is chosen.
  Configuration configuration;
  std::optional<GridTrial> grid_trial;            ///< where one was asked for
  std::optional<TransportTrial> transport_trial;  ///< with --transport auto
  std::string instruction_set;
  ChosenKernel kernel_choice;
  LoadedProfile profile;
  std::optional<Environment> environment;
  std::optional<Provenance> provenance;  ///< on rank 0
  std::optional<BindingResult> binding;  ///< unless the run ended before it
  /// By the calibrated description of this machine; on rank 0 only, and only where there is one.
  std::optional<Prediction> prediction;

  std::int64_t nonzero_count = 0;
  SourceFacts source_facts;
  double generation_s = 0.0;
  double conversion_s = 0.0;  ///< from the generated block to a kernel that is ready
  std::vector<RankResult> ranks;
  CounterResult counters;
  std::optional<GuardReport> guard;  ///< with --guard or --inject

  std::optional<OutOfCoreFacts> out_of_core;   ///< with --out-of-core
  std::optional<RestartFacts> restart;         ///< with --restart
  std::optional<CheckpointFacts> checkpoints;  ///< with --checkpoint

  std::vector<RepeatReport> repeats;  ///< complete ones only; after a restart the outer iterations since
  std::vector<OuterStep> unfinished;  ///< steps of a repetition that did not end
};

/// The system's own account of an event in the region, all ranks; nothing where it has no such figure.
std::optional<double> account_of(const RepeatReport& repeat, std::string_view event_name);
/// Why the counts of an event in a repetition are not to be trusted: they contradict the system's account by more
/// than 2 %, or nothing was counted and nothing says that this is right. Empty: no doubt.
std::string doubt_about(const CounterResult& counters, const RepeatReport& repeat, std::size_t event);
/// Why times of a report are disturbed, in one line: of all repeats. Empty where none is.
std::string disturbance(const RunReport& report);

/// Figures that follow from a report with at least one repeat.
const RepeatReport& median_repeat(const RunReport& report);
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

/// min, mean, max over ranks.
struct Spread {
  double minimum = 0.0;
  double mean = 0.0;
  double maximum = 0.0;
  /// max / mean - 1, the share by which the slowest rank exceeds the mean.
  [[nodiscard]] double imbalance() const { return mean > 0.0 ? maximum / mean - 1.0 : 0.0; }
};
Spread spread_of(std::span<const double> values);

/// Share of the timed region that the phases cover, mean over ranks.
double phase_coverage(const RepeatReport& repeat);
/// Share of the timed region that reading the counter took, mean over ranks.
double timing_share(std::span<const RankResult> ranks, const RepeatReport& repeat);

}  // namespace cg2d
