#pragma once

// The result of `cg2d solve`, and the state that checkpoints of a solve of one system have: how a later solve goes on.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cg/library/solution.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/session_report.hpp"
#include "cg/solver/lanczos.hpp"

namespace cg2d {

/// The state that a solve goes on from, besides its vectors. Alike on every rank.
struct SolveRestart {
  FoundCheckpoint checkpoint{};
  CgState state{};
  double replaced_norm = 0.0;
  std::vector<StepNumbers> steps{};
};
class Members;
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
