#pragma once

// The benchmark's iteration, and the solve of a user's system, with a guard, or with faults on purpose, on the ranks of a test.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cg/matrix/matrix_source.hpp"
#include "cg/run/guard/guard.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "support/mpi_test.hpp"
#include "support/solver_run.hpp"

namespace cg2d::test {

struct GuardedRun {
  std::vector<OuterStep> steps;
  GuardReport report;
  std::string reason;  ///< reason of a refusal

  bool is_refused() const { return !steps.empty() && steps.back().is_refused; }
  double zeta() const { return steps.back().zeta; }
};

/// A clean solve: every check was made, and no error was above half of its tolerance.
inline void expect_clean_report(const GuardReport& report) {
  constexpr double largest_clean_ratio = 0.5;
  EXPECT_TRUE(report.detections.empty()) << describe(report.detections.front());
  EXPECT_EQ(report.rollback_count, 0);
  for (size_t check = 0; check < guard_check_count; ++check) {
    EXPECT_GT(report.check_counts[check], 0) << guard_checks[check].name;
    EXPECT_LE(report.largest_ratios[check], largest_clean_ratio) << guard_checks[check].name;
  }
}

/// A matrix with a kernel and a communicator, made once, and restored after faults.
struct GuardedMatrix {
  GuardedMatrix(kernels::CsrBlock block, const comm::BlockLayout& layout, const SolverConfig& config)
      : checksums(block, *config.kernel, layout, group().rank()),
        assembled(test::assembled(std::move(block), layout, config)) {
    for (const auto& array : assembled->product().stored_arrays())
      stored.emplace_back(array.bytes.begin(), array.bytes.end());
  }
  void restore() const {
    auto bytes = stored.begin();
    for (const auto& array : assembled->product().stored_arrays())
      std::ranges::copy(*bytes++, array.bytes.begin());
  }

  ProductChecksums checksums;
  std::unique_ptr<AssembledOperator> assembled;
  std::vector<std::vector<std::byte>> stored{};  ///< its arrays
};

/// A problem on a grid, generated once, for many solvers.
struct GuardedProblem {
  GuardedProblem(const Problem& given, const comm::ProcessGrid& grid)
      : problem(given),
        layout(comm::BlockLayout::even(given.n, grid)),
        block(default_source().make(given)->build(layout, group(), 1).block) {}

  Problem problem;
  comm::BlockLayout layout;
  kernels::CsrBlock block;
};

/// The solver of a guarded problem, made once for many runs. The problem must outlive it.
class GuardedSolver {
 public:
  GuardedSolver(const GuardedProblem& problem, const SolverConfig& config)
      : problem_(problem), matrix_(problem.block.copy(), problem.layout, config) {}

  /// All outer steps of the problem, from a matrix that has no faults but the damage. Collective.
  GuardedRun run(const GuardOptions& options, const std::function<void(BlockProduct&)>& damage = {}) {
    matrix_.restore();
    Guard guard(options, group(), problem_.layout, *matrix_.assembled, matrix_.checksums);
    NpbIteration solver(*matrix_.assembled, problem_.problem.shift, &guard);
    if (damage) damage(matrix_.assembled->product());
    solver.reset();
    guard.begin_repetition(problem_.problem.niter);
    GuardedRun run;
    run.steps = solver.outer_steps(problem_.problem.niter, {});
    run.report = guard.report(0.0);
    run.reason = guard.reason();
    return run;
  }

 private:
  const GuardedProblem& problem_;
  GuardedMatrix matrix_;
};

/// Flips that do harm without a guard, and those of them that are not found with it.
struct FlipTally {
  int harmful_count = 0;
  std::vector<std::string> missed{};

  /// Each thousandth harmful flip may be missed; of fewer, none. Rank 0 says how many there were, and names those that were missed.
  void judge(const std::string& work, int flip_count) const {
    if (group().rank() == 0) {
      std::cout << "  " << work << ", " << group().size() << " ranks: " << flip_count << " injections, "
                << harmful_count << " harmful, " << missed.size() << " of these not found\n";
      for (const auto& one : missed) std::cout << "  not found, and harmful: " << one << '\n';
    }
    EXPECT_GT(harmful_count, flip_count / 20) << "a campaign without harm tells nothing";
    EXPECT_LE(std::ssize(missed), harmful_count / 1000);
  }
};

/// Configurations that differ in everything, by turns.
inline SolverConfig config_number(size_t number, const std::vector<const kernels::KernelRow*>& all_kernels,
                                  const std::vector<const comm::TransportRow*>& transports) {
  const auto* const transport = transports[number % transports.size()];
  const auto forms = transport->sum_forms;
  return {.sum_form = forms[number / 3 % forms.size()],
          .kernel = all_kernels[number % all_kernels.size()],
          .transport = transport,
          .thread_count = number % 11 == 10 ? 2 : 1,
          .overlaps = number / 2 % 2 == 1};
}

// ---------------------------------------------------------------- users' systems

struct GuardedSystemRun {
  std::optional<SystemSolveResult> result;  ///< empty where an attempt was refused
  GuardReport report;
  std::string reason;
  std::vector<double> x;       ///< this rank's piece
  double true_residual = 0.0;  ///< || b - A x || with the matrix as it was made
};

/// D L D x = b for a Laplacian L and a diagonal D that differs from row to row, with a kernel, made once for many solves.
class GuardedTestSystem {
 public:
  struct Options {
    std::string laplacian = "laplace2d:30x20";
    double most_scale = 1.0;  ///< elements of D are 1 to that
    std::string preconditioner = "none";
    double relative_tolerance = 1e-8;
    bool starts_from_guess = false;
  };

  GuardedTestSystem(const Options& options, const comm::ProcessGrid& grid, const SolverConfig& config)
      : options_(options),
        source_(source_from(options.laplacian)),
        layout_(comm::BlockLayout::even(source_->facts().key.order, grid)),
        thread_count_(config.thread_count) {
    auto block = source_->build(layout_, group(), 1).block;
    scale(block, grid);
    matrix_.emplace(std::move(block), layout_, config);
    const auto piece = layout_.piece(layout_.column_piece_of(group().rank()));
    for (auto row = piece.begin; row < piece.end; ++row) {
      b_.push_back(1.0 + 0.1 * static_cast<double>(row % 7));
      guess_.push_back(0.01 * static_cast<double>(row % 5));
      // The Laplacian's diagonal is the same in every row.
      diagonal_.push_back(laplacian_diagonal_ * scale_of(row) * scale_of(row));
    }
  }

  /// Without a guard where the options ask for nothing. The matrix has no faults at the beginning. Collective.
  GuardedSystemRun run(const GuardOptions& options) {
    matrix_->restore();
    GuardedSystemRun run;
    Guard guard(options, group(), layout_, *matrix_->assembled, matrix_->checksums);
    with_solver(
        options.is_used() ? &guard : nullptr, [&](ConjugateGradient& solver, Preconditioner& preconditioner) {
          run.x = options_.starts_from_guess ? guess_ : std::vector<double>(b_.size());
          const SystemVectors vectors{.b = b_, .x = run.x, .starts_from_x = options_.starts_from_guess};
          const Tolerance tolerance({.relative = options_.relative_tolerance, .most_steps = most_iterations});
          if (options.is_used()) {
            run.result =
                guard.solve(solver, preconditioner.inverse_diagonal(), most_iterations, vectors, tolerance);
          } else {
            run.result = solver.solve(vectors, tolerance).front();
          }
        });
    run.report = guard.report(0.0);
    run.reason = guard.reason();
    matrix_->restore();
    with_solver(nullptr, [&](ConjugateGradient& solver, Preconditioner& /*unused*/) {
      run.true_residual = solver.residual_norm(b_, run.x);
    });
    return run;
  }

  static constexpr int most_iterations = 2000;

 private:
  double scale_of(int64_t row) const {
    return 1.0 + (options_.most_scale - 1.0) * static_cast<double>((row * 7919) % 101) / 100.0;
  }
  void scale(kernels::CsrBlock& block, const comm::ProcessGrid& grid) {
    const auto first_row = layout_.row_block(grid.row_of(group().rank())).begin;
    const auto first_column = layout_.column_block(grid.column_of(group().rank())).begin;
    double largest = 0.0;
    for (int64_t row = 0; row < block.row_count; ++row) {
      for (auto k = static_cast<size_t>(block.row_starts[static_cast<size_t>(row)]);
           k < static_cast<size_t>(block.row_starts[static_cast<size_t>(row) + 1]); ++k) {
        largest = std::max(largest, block.values[k]);
        block.values[k] *= scale_of(first_row + row) * scale_of(first_column + block.columns[k]);
      }
    }
    laplacian_diagonal_ = group().maximum(largest);
  }
  template <typename Work>
  void with_solver(Guard* guard, const Work& work) {
    matrix_->assembled->set_observer(guard);
    LinearOperator* const matrix = matrix_->assembled.get();
    DistributedVectors vectors(*matrix, matrix_->assembled->timer(), thread_count_);
    const auto preconditioner =
        find_preconditioner(options_.preconditioner)
            ->make({.matrix = *matrix, .diagonal = diagonal_, .thread_count = thread_count_});
    ConjugateGradient solver(*matrix, *preconditioner, vectors);
    work(solver, *preconditioner);
  }

  Options options_;
  std::unique_ptr<MatrixSource> source_;
  comm::BlockLayout layout_;
  int thread_count_;
  double laplacian_diagonal_ = 0.0;
  std::optional<GuardedMatrix> matrix_;
  std::vector<double> b_;
  std::vector<double> guess_;
  std::vector<double> diagonal_;
};

}  // namespace cg2d::test
