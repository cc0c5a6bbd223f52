#pragma once

// One solve of a user's system, from options to a complete report.

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/sample.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "cg/run/run_report.hpp"
#include "cg/run/session.hpp"
#include "cg/run/session_options.hpp"
#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/lanczos.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/tuning/run_plan.hpp"
#include "cg/tuning/trial.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

class OutputFile;

/// --monitor: the observer of one system that says a line on stderr for each step.
class StepLines final : public StepObserver {
 public:
  /// name: of the system, before each line. measurement: there when the first iteration ends.
  StepLines(std::string name, std::optional<RegionMeasurement>& measurement)
      : name_(std::move(name)), measurement_(measurement) {}
  bool after_step(const CgState& state) override {
    measurement_->outside_of_phases([&] {
      say_on_stderr(
          fmt::format("{}iteration {}: residual {:.6e}", name_, state.number, state.residual_norm()));
    });
    return false;
  }

 private:
  std::string name_;
  std::optional<RegionMeasurement>& measurement_;
};

/// Parts of a system that several runs use.
struct KeptSystem {
  SystemMatrix* matrix = nullptr;
  /// The trial of kernels: the first run with --kernel auto makes it, the others take it.
  std::optional<KernelTrial>* kernel_trial = nullptr;
};

/// Reads or generates the matrix of the options, and checks that it is symmetric with a positive diagonal. Collective.
/// Throws RunError (on every rank alike), MpiError, std::bad_alloc.
std::unique_ptr<SystemMatrix> read_system(const SystemOptions& options, comm::RankGroup& group,
                                          const Progress& progress, const MemoryCheck& check_memory);

/// Holds references: options, group, progress and report must outlive it. As the observer of all systems together, it says how far the
/// solve is, asks for a stop when a signal has reached any rank, and saves the state: after the last iteration that is allowed, for a solve
/// with a higher limit, and where the interval is over or a stop is asked for, at iterations at which the ranks ask each other for signals
/// anyway, so that all know the same time.
class SolveRun final : public Session, private StepObserver {
 public:
  /// kept: with the matrix of the options from read_system(), where more than one run uses it; nullptr: the run reads
  /// it, and its rows go when the block is there.
  SolveRun(const SystemOptions& options, comm::RankGroup& group, const Progress& progress,
           SolveReport& report, const KeptSystem& kept = {})
      : Session(options, group, progress, report, WorkKind::solve),
        options_(options),
        report_(report),
        matrix_(kept.matrix),
        tolerance_({.relative = options.relative_tolerance,
                    .absolute = options.absolute_tolerance,
                    .most_steps = options.most_iterations}) {
    kernel_trial_ = kept.kernel_trial != nullptr ? kept.kernel_trial : &report_.kernel_trial;
  }

  /// Writes the solution, where there is to be a file of it, into that, which is null but on rank 0. After perform(). Collective.
  void write_solution(OutputFile* file) const;

 private:
  void prepare() override;
  void read() override;
  std::unique_ptr<BlockProduct> make_product(const comm::BlockLayout& layout) override;
  MeasuredSolver make_solver() override;
  const RepeatReport* iterate() override;

  void check_method() const;
  bool has_several() const { return report_.right_hand_side_count > 1; }
  /// The place of an element of the right-hand sides among vectors of the product.
  size_t wide_index(size_t element) const {
    const auto count = static_cast<size_t>(report_.right_hand_side_count);
    return element / count * static_cast<size_t>(vector_count_) + element % count;
  }
  const PreconditionerRow& preconditioner_row() const {
    return *find_preconditioner(options_.preconditioner);
  }
  HugePageVector make_vectors(const VectorOption& option) const;
  [[nodiscard]] std::unique_ptr<Preconditioner> make_preconditioner();
  void record_solutions(const std::vector<Solution>& solutions);

  // A matrix that is read or generated, cut into blocks, and multiplied by a kernel: solve_matrix.cpp
  void read_matrix();
  void check_expected_memory(const ExpectedMatrix& expected) const;
  int64_t bytes_of_rank(const MatrixFacts& matrix, const MemoryPlan& plan, const comm::BlockLayout& layout,
                        int rank) const;
  std::unique_ptr<BlockProduct> distribute(const comm::BlockLayout& layout);
  std::unique_ptr<BlockProduct> stream(const comm::BlockLayout& layout);

  // A product without a matrix: solve_matrix.cpp, too
  void choose_matrix_free();
  void make_matrix_free();
  const MatrixFreeRow& matrix_free_row() const { return matrix_free_row_of(options_.operator_text); }
  double rows_of_rank() const {
    return static_cast<double>(matrix_free_size_.order) / static_cast<double>(group_.size());
  }
  void try_matrix_free_transports();

  // The iterations
  void begin_checkpoints();
  [[nodiscard]] CheckpointState checkpoint_state(const CgSnapshot& snapshot);
  void tell(const CgState& state);
  [[nodiscard]] bool must_end();
  bool after_step(const CgState& state) override;

  const SystemOptions& options_;
  SolveReport& report_;
  std::unique_ptr<SystemMatrix> read_matrix_;
  SystemMatrix* matrix_;  // that one, or the one that is kept; nullptr: there is none
  MatrixFreeSize matrix_free_size_;
  std::unique_ptr<MatrixFreeSystem> matrix_free_;
  HugePageVector diagonal_;           // this rank's piece, where the preconditioner needs it
  kernels::CsrBlock diagonal_block_;  // A in the rows and columns of this rank's piece, where it is needed
  uint64_t value_hash_ = 0;           // of the matrix, for checkpoints
  // The operator that is solved with, however its product is made, and the clock of its phases.
  LinearOperator* operator_ = nullptr;
  PhaseTimer* timer_ = nullptr;
  VectorPlace place_;      // of all right-hand sides
  int64_t first_row_ = 0;  // the number of this rank's first element
  HugePageVector b_;
  HugePageVector x_;  // the initial guess, and then the solution
  std::optional<DistributedVectors> vectors_;
  std::unique_ptr<Preconditioner> preconditioner_;
  std::optional<ConjugateGradient> solver_;
  Tolerance tolerance_;
  CheckpointHeader checkpointed_;  // of the system
  SolveState restarted_;           // but for its x
  // Each system has one, and with --monitor on rank 0 lines, too. They do not move as long as the solver works.
  std::deque<StepHistory> histories_;
  std::deque<StepLines> lines_;
  Stopwatch since_begin_;  // of the iterations
  int64_t step_count_ = 0;
  int64_t next_check_ = 1;  // the step after which the ranks ask each other for signals
  double said_s_ = 0.0;
  double common_s_ = 0.0;  // since the begin, by the slowest clock, when they last asked: alike on every rank
  SolveRestart saved_;     // but for its checkpoint
  double next_save_s_ = 0.0;  // by the common clock
};

}  // namespace cg2d
