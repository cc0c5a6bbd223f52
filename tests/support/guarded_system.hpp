#pragma once

// A user's system under guard, or with faults on purpose, on the ranks of a test.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cg/matrix/matrix_source.hpp"
#include "cg/run/guard/guard.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "support/guarded_run.hpp"
#include "support/mpi_test.hpp"
#include "support/solver_run.hpp"

namespace cg2d::test {

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
