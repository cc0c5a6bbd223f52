#pragma once

// One solve of a user's system, from options to a complete report.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cg/base/interrupt.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/progress.hpp"
#include "cg/matrix/files/stored_matrix.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "cg/run/region_measurement.hpp"
#include "cg/run/session.hpp"
#include "cg/run/solve/solve_checkpoints.hpp"
#include "cg/run/solve/solve_observers.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/run/solve/solve_report.hpp"
#include "cg/run/streaming/streaming_feature.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/solver/solve.hpp"
#include "cg/tuning/run_plan.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

class OutputFile;

/// A system that is ready to be solved, however its product is made. Holds references.
struct ReadySystem {
  LinearOperator& matrix;
  PhaseTimer& timer;
  VectorPlace place;
  std::function<comm::Traffic(comm::Operation)> sent;  ///< by this rank so far
  std::int64_t first_row = 0;                          ///< the number of this rank's first element
  std::int64_t matrix_bytes =
      0;  ///< over which products of this rank read the matrix; 0: they read vectors only
};

/// Reads or generates the matrix of the options, and checks that it is symmetric with a positive diagonal. Collective.
/// Throws RunError (on every rank alike), MpiError, std::bad_alloc.
std::unique_ptr<SystemMatrix> read_system(const SystemOptions& options, comm::RankGroup& group,
                                          const Progress& progress, const MemoryCheck& check_memory);
/// The same for --out-of-core, which leaves the matrix where it is, within memory_bytes on each rank.
std::unique_ptr<SystemMatrix> find_system(const SystemOptions& options, std::int64_t memory_bytes,
                                          comm::RankGroup& group, const Progress& progress,
                                          const MemoryCheck& check_memory);

/// Parts of a system that several runs use.
struct KeptSystem {
  SystemMatrix* matrix = nullptr;
  /// The trial of kernels: the first run with --kernel auto makes it, the others take it.
  std::optional<KernelTrial>* kernel_trial = nullptr;
};

/// Collective in every operation but the accessors; each throws RunError (on every rank alike), MpiError,
/// std::bad_alloc, and leaves the report as far as it got. Holds references: options, group and progress must
/// outlive it.
class SolveRun {
 public:
  /// kept: with the matrix of the options from read_system(), where more than one run uses it; nullptr: the run reads
  /// it, and gives its rows back while the blocks grow.
  SolveRun(const SystemOptions& options, comm::RankGroup& group, const Progress& progress,
           const KeptSystem& kept = {})
      : options_(options),
        group_(group),
        progress_(progress),
        session_(options, group, progress, report_, WorkKind::solve),
        streaming_(session_.features().find<StreamingFeature>()),
        kept_(kept.matrix),
        kept_kernel_trial_(kept.kernel_trial) {}

  /// Inspects the machine, and checks what needs no matrix.
  void prepare();
  /// Reads, distributes, solves, and writes the solution into the file, which is null but on rank 0, or everywhere
  /// where there is to be none. After prepare().
  void perform(OutputFile* solution);

  [[nodiscard]] const SolveReport& report() const { return report_; }
  /// This rank's part of the trace, where one was requested; valid as long as this.
  [[nodiscard]] const std::optional<RankTrace>& trace() const { return session_.trace(); }
  /// Notes in the report why the solve ends.
  void note_failure(const RunError& error) { report_.note_failure(error); }

 private:
  [[nodiscard]] const Configuration& configuration() const { return report_.configuration; }
  void read();
  void check_expected_memory(const ExpectedMatrix& expected) const;
  [[nodiscard]] std::int64_t bytes_of_rank(const MatrixFacts& matrix, const MemoryPlan& plan,
                                           const comm::BlockLayout& layout, int rank) const;
  [[nodiscard]] bool is_streamed() const { return streaming_ != nullptr; }
  void cut();
  void count_right_hand_sides();
  void check_several() const;
  [[nodiscard]] bool has_several() const { return report_.right_hand_side_count > 1; }
  /// The vectors that the product takes at once: at least as many as there are right-hand sides.
  [[nodiscard]] int vector_count() const { return kernels::vector_count_for(report_.right_hand_side_count); }
  void check_solve_memory(const comm::BlockLayout& layout) const;
  void choose();
  void try_kernels();
  /// The kernel named, or that of the profile, or that of the trial once it is made, or one that suits any pattern.
  [[nodiscard]] ChosenKernel kernel_for(const comm::ProcessGrid& grid) const;
  void choose_transport(const comm::BlockLayout& layout, const std::shared_ptr<BlockProduct>& product);
  void choose_transport(const MatrixFreeRow& row);
  [[nodiscard]] bool has_room_for_all_transports(const MatrixFreeSize& size) const;
  void check_reproducible() const;
  std::unique_ptr<BlockProduct> distribute(const comm::BlockLayout& layout);
  [[nodiscard]] std::int64_t vector_bytes(const comm::BlockLayout& layout) const;
  std::unique_ptr<BlockProduct> stream(const comm::BlockLayout& layout);
  void solve_matrix_free(OutputFile* solution);
  void note_matrix_free(MatrixFreeSystem& system);
  void check_matrix_free(const MatrixFreeRow& row) const;
  void check_matrix_free_memory(const MatrixFreeSize& size) const;

  [[nodiscard]] HugePageVector make_vector(const VectorOption& option, const VectorPlace& place);
  [[nodiscard]] std::unique_ptr<Preconditioner> make_preconditioner(const ReadySystem& system);
  [[nodiscard]] HugePageVector make_vectors(const VectorOption& option, const VectorPlace& place);
  void expand_diagonal();
  [[nodiscard]] std::deque<SystemObservers> observe_systems(SystemSolver& solver,
                                                            const OutsideOfPhases& outside);
  void solve(const ReadySystem& system, OutputFile* solution);
  void take_solutions(std::vector<Solution> solutions);
  void write_solution(std::span<const double> x, const VectorPlace& place, OutputFile* file);
  [[nodiscard]] CheckpointedSystem checkpointed_system(const ReadySystem& system, std::span<const double> b);
  [[nodiscard]] MeasuredWork measured_work(MeasuredSolver& solver, RegionMeasurement& measurement,
                                           const ReadySystem& system) const;

  const SystemOptions& options_;
  comm::RankGroup& group_;
  const Progress& progress_;
  SolveReport report_;
  Session session_;
  StreamingFeature* streaming_;  // with --out-of-core
  SystemMatrix* kept_;
  std::optional<KernelTrial>* kept_kernel_trial_;
  std::unique_ptr<SystemMatrix> read_matrix_;
  SystemMatrix* matrix_ = nullptr;    // one of both
  HugePageVector diagonal_;           // this rank's piece
  kernels::CsrBlock diagonal_block_;  // A in the rows and columns of this rank's piece, where it is needed
  // From the first iteration on, until the results are written: they are not given up for a late signal.
  std::optional<InterruptWatch> watch_;
  std::uint64_t value_hash_ = 0;      // of the matrix, for checkpoints
  SolveGuardHooks* guard_ = nullptr;  // of this solve
};

}  // namespace cg2d
