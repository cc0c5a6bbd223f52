// Conjugate gradients on systems of a user's own, serial and distributed.

#include "cg/solver/conjugate_gradient.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "support/bits.hpp"
#include "support/dense_operator.hpp"
#include "support/dense_systems.hpp"
#include "support/mpi_test.hpp"
#include "support/solve_system.hpp"
#include "support/solver_run.hpp"

namespace cg2d::conjugate_gradient_test {
namespace {

using test::DenseOperator;
using test::DenseRows;
using test::group;
using test::line_rows;
using test::one_two_three;
using test::solve;

/// 4 1 .
/// 1 3 1
/// . 1 2
DenseRows three_rows() { return {{4.0, 1.0, 0.0}, {1.0, 3.0, 1.0}, {0.0, 1.0, 2.0}}; }

struct Solved {
  SystemSolveResult result;
  std::vector<double> x;  ///< whole
};

/// Solves A x = A (1, 2, 3, ...). Collective.
Solved solve_rows(DenseOperator& matrix, size_t size, const StopRule& stop,
                  std::span<StepObserver* const> observers = {}) {
  const auto b = matrix.times(one_two_three(size));
  std::vector<double> x(b.size(), std::numeric_limits<double>::quiet_NaN());  // overwritten, never read
  IdentityPreconditioner none;
  const auto result = solve(matrix, b, x, {.stop = stop, .preconditioner = none, .observers = observers});
  return {.result = result, .x = DenseOperator::whole(x)};
}

TEST(ConjugateGradientTest, SolvesThreeEquationsInThreeSteps) {
  DenseOperator matrix(three_rows());
  const auto [result, x] = solve_rows(matrix, 3, Tolerance({.relative = 1e-14, .most_steps = 10}));
  EXPECT_EQ(result.end, SolveEnd::converged);
  EXPECT_EQ(result.step_count, 3);
  EXPECT_DOUBLE_EQ(result.first_residual_norm, std::sqrt(6.0 * 6.0 + 10.0 * 10.0 + 8.0 * 8.0));
  // The condition number is below 4: a few roundings of 3.
  EXPECT_EQ(x.size(), 3U);
  for (size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(x[k], static_cast<double>(k + 1), 1e-14);
}

/// As in the benchmark.
TEST(ConjugateGradientTest, StepsAfterTheSolutionChangeNothing) {
  DenseOperator matrix(line_rows(23, 1.0));
  const auto fixed = solve_rows(matrix, 23, FixedSteps(60));
  EXPECT_EQ(fixed.result.end, SolveEnd::step_limit);
  EXPECT_EQ(fixed.result.step_count, 60);
  for (size_t k = 0; k < fixed.x.size(); ++k) EXPECT_NEAR(fixed.x[k], static_cast<double>(k + 1), 1e-10);
}

/// Keeps the numbers of the steps, and asks to stop after one of them.
class StepList final : public StepObserver {
 public:
  explicit StepList(int last) : last_(last) {}
  void before_step() override { ++begun; }
  bool after_step(const CgState& state) override {
    numbers.push_back(state.number);
    EXPECT_GT(state.rho, 0.0);
    EXPECT_GT(state.curvature, 0.0);
    EXPECT_GT(state.alpha, 0.0);
    EXPECT_GT(state.beta, 0.0);
    return state.number == last_;
  }

  int begun = 0;
  std::vector<int> numbers;

 private:
  int last_;
};

TEST(ConjugateGradientTest, ObserversSeeEveryStepAndMayStop) {
  DenseOperator matrix(line_rows(23, 1.0));
  StepList stopping(2);
  StepList watching(100);
  const std::vector<StepObserver*> observers{&stopping, &watching};
  const auto result =
      solve_rows(matrix, 23, Tolerance({.relative = 1e-12, .most_steps = 100}), observers).result;
  EXPECT_EQ(result.end, SolveEnd::stopped);
  EXPECT_EQ(result.step_count, 2);
  for (const auto* list : {&stopping, &watching}) {
    EXPECT_EQ(list->begun, 2);
    EXPECT_EQ(list->numbers, (std::vector<int>{1, 2}));
  }
}

/// Keeps copies of all that a later solve needs, after one step.
class SnapshotAfter final : public StepObserver {
 public:
  SnapshotAfter(int number, ConjugateGradient& solver, std::span<const double> observed_x)
      : number_(number), solver_(solver), x_(observed_x) {}
  bool after_step(const CgState& state) override {
    if (state.number != number_) return false;
    const auto snapshot = solver_.snapshot(state);
    x.assign(x_.begin(), x_.end());
    residual.assign(snapshot.residual.begin(), snapshot.residual.end());
    direction.assign(snapshot.direction.begin(), snapshot.direction.end());
    kept = {.state = snapshot.state,
            .replaced_norm = snapshot.replaced_norm,
            .residual = residual,
            .direction = direction};
    return false;
  }

  CgSnapshot kept;
  std::vector<double> x;
  std::vector<double> residual;
  std::vector<double> direction;

 private:
  int number_;
  ConjugateGradient& solver_;
  std::span<const double> x_;
};

/// From every step, that in which the residual is recomputed among them.
TEST(ConjugateGradientTest, ResumesWithTheSameBits) {
  constexpr size_t size = 23;
  DenseOperator matrix(line_rows(size, 1.0));
  const auto b = matrix.times(one_two_three(size));
  const Tolerance stop({.relative = 1e-12, .most_steps = 200});
  IdentityPreconditioner none;
  PhaseTimer no_timer;
  DistributedVectors vectors(matrix, no_timer, 1);
  int step_count = 1;
  for (int number = 1; number <= step_count; ++number) {
    std::vector<double> x(b.size());
    ConjugateGradient whole(matrix, none, vectors);
    SnapshotAfter snapshot(number, whole, x);
    whole.observers().add(snapshot);
    const auto expected = whole.iterate({.b = b, .x = x}, stop).front();
    step_count = expected.state.number;
    EXPECT_EQ(expected.end, SolveEnd::converged);

    auto resumed_x = snapshot.x;
    ConjugateGradient rest(matrix, none, vectors);
    const auto resumed = rest.iterate({.b = b, .x = resumed_x, .snapshot = &snapshot.kept}, stop).front();
    EXPECT_EQ(resumed.end, expected.end) << number;
    EXPECT_EQ(resumed.state.number, expected.state.number) << number;
    EXPECT_TRUE(test::same_bits(resumed.state.residual_square, expected.state.residual_square)) << number;
    EXPECT_TRUE(test::same_bits(resumed.recurrence_norm, expected.recurrence_norm)) << number;
    EXPECT_TRUE(test::same_bits(resumed_x, x)) << number;
  }
  EXPECT_GT(step_count, 10);
}

TEST(ConjugateGradientTest, ARemovedObserverIsToldNothing) {
  DenseOperator matrix(three_rows());
  PhaseTimer timer;
  DistributedVectors vectors(matrix, timer, 1);
  IdentityPreconditioner none;
  ConjugateGradient conjugate_gradient(matrix, none, vectors);
  StepList list(100);
  conjugate_gradient.observers().add(list);
  const auto b = matrix.times(one_two_three(3));
  std::vector<double> x(b.size());
  conjugate_gradient.iterate({.b = b, .x = x}, FixedSteps(1));
  conjugate_gradient.observers().remove(list);
  conjugate_gradient.iterate({.b = b, .x = x}, FixedSteps(1));
  EXPECT_EQ(list.numbers, (std::vector<int>{1}));
}

// ---------------------------------------------------------------- the program's own operator

TEST(ConjugateGradientTest, SolvesWithTheBlocksOfEveryGrid) {
  auto problem = *find_class("S");
  problem.shift = 0.0;  // a sum of squares and rcond: positive definite
  std::optional<int> step_count;
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE("grid " + grid.name());
    const auto layout = comm::BlockLayout::even(problem.n, grid);
    const auto matrix =
        test::assembled(default_source().make(problem)->build(layout, group(), 1).block, layout, {});
    const std::vector<double> b(matrix->local_size(), 1.0);
    std::vector<double> x(b.size());
    IdentityPreconditioner none;
    const auto result = solve(
        *matrix, b, x, {.stop = Tolerance({.relative = 1e-10, .most_steps = 1000}), .preconditioner = none});
    EXPECT_EQ(result.end, SolveEnd::converged);
    EXPECT_LE(result.true_residual_norm, 1e-10 * result.first_residual_norm);
    // Another order of additions moves the end by a few steps: roundings cost CG its directions' being conjugate.
    if (!step_count) step_count = result.step_count;
    EXPECT_NEAR(result.step_count, *step_count, 0.1 * *step_count);
  }
}

}  // namespace
}  // namespace cg2d::conjugate_gradient_test
