#pragma once

// One solve of a user's system, from options to a complete report.

#include <memory>
#include <optional>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/base/progress.hpp"
#include "cg/files/system_matrix.hpp"
#include "cg/solve/solve_options.hpp"
#include "cg/solve/solve_report.hpp"
#include "cg/solver/block_operator.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

class OutputFile;

/// Collective in every operation but the accessors; each throws RunError (on every rank alike), MpiError,
/// std::bad_alloc, and leaves the report as far as it got. Holds references: options, group and progress must
/// outlive it.
class SolveRun {
 public:
  SolveRun(const SystemOptions& options, comm::RankGroup& group, const Progress& progress)
      : options_(options), group_(group), progress_(progress) {
    report_.configuration = options.configuration;
  }

  /// Inspects the machine, and checks what needs no matrix.
  void prepare();
  /// Reads, distributes, solves, and writes the solution into the file, which is null but on rank 0, or everywhere
  /// where there is to be none. After prepare().
  void perform(OutputFile* solution);

  [[nodiscard]] const SolveReport& report() const { return report_; }
  void note_failure(const RunError& error);

 private:
  [[nodiscard]] const Configuration& configuration() const { return report_.configuration; }
  void read();
  void cut();
  void choose_grid();
  void try_grids();
  void take_grid(const comm::ProcessGrid& grid);
  [[nodiscard]] ChosenKernel kernel_for(const comm::ProcessGrid& grid) const;
  void check_choices() const;
  [[nodiscard]] Environment granted_environment() const;
  std::unique_ptr<BlockProduct> distribute(const comm::BlockLayout& layout);
  [[nodiscard]] HugePageVector make_vector(const VectorOption& option, const comm::BlockLayout& layout);
  void solve(comm::Communicator& communicator, BlockProduct& product, const comm::BlockLayout& layout,
             OutputFile* solution);

  const SystemOptions& options_;
  comm::RankGroup& group_;
  const Progress& progress_;
  SolveReport report_;
  std::unique_ptr<SystemMatrix> matrix_;
  HugePageVector diagonal_;           // this rank's piece
  kernels::CsrBlock diagonal_block_;  // A in the rows and columns of this rank's piece, where it is needed
  RankResult mine_;
  std::optional<ThreadBinding> binding_;
};

}  // namespace cg2d
