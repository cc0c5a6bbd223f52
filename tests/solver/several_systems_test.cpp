// Conjugate gradients for several systems at once: the same numbers as one after the other, with the calls of one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cg/solver/conjugate_gradient.hpp"
#include "cg/timing/phase_timer.hpp"
#include "support/dense_operator.hpp"
#include "support/dense_systems.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::several_systems_test {
namespace {

using test::DenseOperator;
using test::DenseRows;
using test::line_rows;

constexpr size_t size = 24;  // DenseOperator cuts it between rows, also where each is repeated

/// Each entry for every one of the vectors, whose elements of one row are neighbours.
DenseRows repeated(const DenseRows& rows, size_t count) {
  DenseRows wide(rows.size() * count, std::vector<double>(rows.size() * count));
  for (size_t row = 0; row < wide.size(); ++row) {
    for (size_t column = 0; column < rows.size(); ++column)
      wide[row][column * count + row % count] = rows[row / count][column];
  }
  return wide;
}

/// Right-hand side `number`: rising frequencies, and lengths that differ.
double element_of(size_t number, size_t row) {
  return std::sin(static_cast<double>((number + 1) * (row + 1))) * static_cast<double>(number + 1);
}

std::vector<double> right_hand_sides(size_t first, size_t count) {
  std::vector<double> b;
  for (size_t row = 0; row < size; ++row) {
    for (size_t number = 0; number < count; ++number) b.push_back(element_of(first + number, row));
  }
  return b;
}

/// One or several systems with their solver.
struct Systems {
  explicit Systems(int count, size_t first = 0, double growth = 1.0)
      : matrix(repeated(line_rows(size, growth), static_cast<size_t>(count))),
        vectors(matrix, timer, 1),
        b(matrix.piece_of(right_hand_sides(first, static_cast<size_t>(count)))),
        x(b.size()),
        solver(matrix, none, vectors, cg_variant_table().front(), count) {}

  std::vector<SystemSolveResult> solve(const StopRule& stop) { return solver.solve({.b = b, .x = x}, stop); }
  std::vector<double> whole_x() const { return DenseOperator::whole(x); }

  PhaseTimer timer;
  IdentityPreconditioner none;
  DenseOperator matrix;
  DistributedVectors vectors;
  std::vector<double> b;
  std::vector<double> x;
  ConjugateGradient solver;
};

/// A badly scaled matrix: residuals rise and fall.
TEST(SeveralSystemsTest, EachThatFailsHasItsBestIterateAsIfItWereAlone) {
  int earlier_count = 0;
  for (const int most_steps : {1, 3, 6, 9, 12}) {
    const Tolerance tolerance({.relative = 1e-10, .most_steps = most_steps});
    Systems several(4, 0, 1.4);
    const auto results = several.solve(tolerance);
    const auto x = several.whole_x();
    for (size_t number = 0; number < results.size(); ++number) {
      SCOPED_TRACE(testing::Message() << "system " << number << ", " << most_steps << " steps");
      Systems one(1, number, 1.4);
      const auto alone = one.solve(tolerance).front();
      EXPECT_EQ(results[number].solution_step, alone.solution_step);
      // Sums of other orders, whose differences grow with the steps.
      EXPECT_NEAR(results[number].true_residual_norm, alone.true_residual_norm,
                  1e-9 * alone.right_hand_side_norm);
      EXPECT_NEAR(results[number].last_residual_norm, alone.last_residual_norm,
                  1e-9 * alone.right_hand_side_norm);
      const auto alone_x = one.whole_x();
      for (size_t row = 0; row < size; ++row) EXPECT_NEAR(x[row * 4 + number], alone_x[row], 1e-8);
      earlier_count += alone.has_kept() ? 1 : 0;
    }
  }
  EXPECT_GT(earlier_count, 3);
}

TEST(SeveralSystemsTest, EachIsSolvedAsIfItWereAlone) {
  const Tolerance tolerance({.relative = 1e-10, .most_steps = 100});
  for (const int count : {2, 4, 8, 16}) {
    Systems several(count);
    const auto results = several.solve(tolerance);
    const auto x = several.whole_x();
    ASSERT_EQ(results.size(), static_cast<size_t>(count));
    for (size_t number = 0; number < results.size(); ++number) {
      SCOPED_TRACE(testing::Message() << "system " << number << " of " << count);
      Systems one(1, number);
      const auto alone = one.solve(tolerance).front();
      EXPECT_EQ(results[number].end, SolveEnd::converged);
      EXPECT_NEAR(results[number].step_count, alone.step_count, 1);
      EXPECT_LE(results[number].true_residual_norm, 1e-10 * alone.right_hand_side_norm);
      // The inverse has a norm of 64, and b one of at most 16 times 5; both solutions have an error.
      const auto x_alone = one.whole_x();
      for (size_t row = 0; row < size; ++row)
        EXPECT_NEAR(x[row * results.size() + number], x_alone[row], 2.0 * 64.0 * 80.0 * 1e-10);
    }
  }
}

/// Products and sums of ten steps, whose number the rule fixes.
struct CallCounts {
  int products;
  int sums;
  bool operator==(const CallCounts&) const = default;
};

CallCounts calls_of_ten_steps(int count) {
  const auto calls_of = [&](int step_count) {
    Systems systems(count);
    systems.solve(FixedSteps(step_count));
    return CallCounts{.products = systems.matrix.product_count, .sums = systems.matrix.sum_count};
  };
  const auto before = calls_of(3);
  const auto after = calls_of(13);
  return {.products = after.products - before.products, .sums = after.sums - before.sums};
}

TEST(SeveralSystemsTest, AStepTakesOneProductAndTwoSumsForAnyNumberOfThem) {
  for (const int count : {1, 2, 4, 8, 16})
    EXPECT_EQ(calls_of_ten_steps(count), (CallCounts{.products = 10, .sums = 20})) << count << " systems";
}

/// Keeps what it is told, and asks to stop after one of the steps.
class Listener final : public StepObserver {
 public:
  explicit Listener(int last = 0) : last_(last) {}
  void before_step() override { ++begun; }
  bool after_step(const CgState& state) override {
    numbers.push_back(state.number);
    quotients.push_back(state.residual_norm() / state.right_hand_side_norm());
    return state.number == last_;
  }

  int begun = 0;
  std::vector<int> numbers;
  std::vector<double> quotients;

 private:
  int last_;
};

TEST(SeveralSystemsTest, AnObserverOfAllStopsAll) {
  for (const int count : {1, 4}) {
    Systems systems(count);
    Listener listener(3);
    systems.solver.observers().add(listener);
    for (const auto& result : systems.solve(Tolerance({.relative = 1e-12, .most_steps = 100}))) {
      EXPECT_EQ(result.end, SolveEnd::stopped);
      EXPECT_EQ(result.step_count, 3);
    }
    EXPECT_EQ(listener.begun, 3);
    EXPECT_EQ(listener.numbers, (std::vector<int>{1, 2, 3}));
  }
}

TEST(SeveralSystemsTest, AnObserverOfAllSeesTheOneThatIsFarthestFromItsSolution) {
  constexpr int count = 4;
  Systems systems(count);
  Listener of_all;
  std::vector<Listener> of_each(count);
  systems.solver.observers().add(of_all);
  for (int number = 0; number < count; ++number)
    systems.solver.observers_of(number).add(of_each[static_cast<size_t>(number)]);
  systems.solve(FixedSteps(6));
  ASSERT_EQ(of_all.quotients.size(), 6U);
  for (size_t step = 0; step < 6; ++step) {
    double largest = 0.0;
    for (const auto& listener : of_each) largest = std::max(largest, listener.quotients[step]);
    EXPECT_EQ(of_all.quotients[step], largest);
  }
}

TEST(SeveralSystemsTest, AnObserverOfOneStopsThatOne) {
  Systems systems(4);
  Listener of_one(2);
  systems.solver.observers_of(1).add(of_one);
  const auto results = systems.solve(Tolerance({.relative = 1e-10, .most_steps = 100}));
  for (size_t number = 0; number < results.size(); ++number)
    EXPECT_EQ(results[number].end, number == 1 ? SolveEnd::stopped : SolveEnd::converged);
  EXPECT_EQ(results[1].step_count, 2);
  EXPECT_EQ(of_one.begun, 2);
}

}  // namespace
}  // namespace cg2d::several_systems_test
