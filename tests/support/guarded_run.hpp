#pragma once

// The benchmark's iteration with a guard, or with faults on purpose, on the ranks of a test.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cg/matrix/matrix_source.hpp"
#include "cg/run/guard/guard.hpp"
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

}  // namespace cg2d::test
