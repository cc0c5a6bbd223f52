#pragma once

// The result of `cg2d solve`, and its formats.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/files/system_matrix.hpp"
#include "cg/library/solution.hpp"
#include "cg/machine/quiet.hpp"
#include "cg/report/phase_table.hpp"
#include "cg/run/run_report.hpp"
#include "cg/solve/solve_checkpoints.hpp"
#include "cg/solve/solve_options.hpp"
#include "cg/tuning/kernel_trial.hpp"
#include "cg/tuning/transport_choice.hpp"

namespace cg2d {

/// The largest and the mean number of nonzeros of a rank's block.
struct BlockBalance {
  std::int64_t largest = 0;
  double mean = 0.0;
  [[nodiscard]] double imbalance() const {
    return mean > 0.0 ? static_cast<double>(largest) / mean - 1.0 : 0.0;
  }
};
BlockBalance balance_of(std::span<const std::int64_t> nonzeros);

struct MatrixResult {
  std::string name;
  std::int64_t order = 0;
  std::int64_t nonzero_count = 0;
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
  std::string cut;              ///< "domain 1x2x2", "grid 2x3"
  std::vector<Phase> phases{};  ///< of an iteration
};

struct SolveReport {
  ExitCode code = ExitCode::success;
  std::string reason;  ///< one line, empty on success
  std::vector<std::string> warnings;
  Configuration configuration;
  bool is_resolved = false;  ///< no value of the configuration is open any more
  bool grid_is_automatic = false;
  std::optional<GridTrial> grid_trial;
  std::optional<KernelTrial> kernel_trial;
  std::optional<TransportTrial> transport_trial;  ///< with --transport auto
  ChosenKernel kernel_choice;
  LoadedProfile profile;
  bool is_symmetric = false;  ///< the kernel stores one entry of each mirrored pair
  std::string instruction_set;
  std::optional<Environment> environment;
  std::optional<Provenance> provenance;  ///< on rank 0
  comm::WaitMode wait_mode = comm::WaitMode::spin;
  std::optional<BindingResult> binding;
  std::optional<MatrixResult> matrix;           ///< once it is read or made
  std::optional<MatrixFreeResult> matrix_free;  ///< unless there is a matrix
  int right_hand_side_count = 1;
  std::optional<SolveRestart> restart;         ///< with --restart
  std::optional<CheckpointFacts> checkpoints;  ///< with --checkpoint
  std::optional<Solution> solution;            ///< the one with the worst end, the first of equals
  std::vector<Solution> solutions;             ///< one of each right-hand side, where there are several
  RepeatReport repeat;                         ///< times and phases of the solve
  std::vector<RankResult> ranks;
  CounterResult counters;
  std::optional<GuardReport> guard;           ///< with --guard or --inject
  std::optional<OutOfCoreFacts> out_of_core;  ///< with --out-of-core
  std::optional<QuietResult> quiet;           ///< of the timed region, where the solve came to it
};

/// One format; a new one is one file that defines a row, and its entry in the table.
struct SolveFormat {
  std::string_view name;
  std::string (*write)(const SystemOptions& options, const SolveReport& report);
  bool writes_errors;  ///< whether a solve that could not start is reported in this format
};
std::span<const SolveFormat> solve_format_table();
const SolveFormat& solve_format(std::string_view name);

/// One line that says what happened and which option would help; empty where there is a solution.
std::string reason_of(const Solution& solution);
/// The same of a measurement that was to do so many iterations.
std::string reason_of_measurement(const Solution& solution, int iteration_count);
/// As exit_code_of(), of a measurement, which is to do all its iterations.
ExitCode exit_code_of_measurement(const SystemSolveResult& result);
/// The object that the format "json" writes.
nlohmann::ordered_json solve_json(const SystemOptions& options, const SolveReport& report);

/// "nonzeros", "even" or "random:7".
std::string cut_text(const SystemOptions& options);
/// Iterations of the whole solve: several right-hand sides iterate together.
int step_count_of(const SolveReport& report);
/// Those of them that were timed: the ones since a restart.
int timed_step_count(const SolveReport& report);
/// The phases of the table: those of the benchmark, unless there is no matrix.
PhaseFigures phase_figures(const SolveReport& report);
/// As the command line takes it.
std::string vector_text(const VectorOption& option);

}  // namespace cg2d
