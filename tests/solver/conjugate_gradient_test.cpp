// Conjugate gradients for one system and for several at once: the same numbers as one after the other, with the calls of one; and what the
// steps tell of the spectrum.

#include "cg/solver/conjugate_gradient.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "cg/solver/lanczos.hpp"
#include "cg/timing/phase_timer.hpp"
#include "support/bits.hpp"
#include "support/dense_operator.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::conjugate_gradient_test {
namespace {

using test::DenseOperator;
using test::DenseRows;
using test::line_rows;
using test::one_two_three;

constexpr size_t size = 24;  // DenseOperator cuts it between rows, also where each is repeated

/// One or several systems with their solver.
struct Systems {
  Systems(const DenseRows& rows, const std::vector<double>& right_hand_sides, int count = 1)
      : matrix(test::repeated(rows, static_cast<size_t>(count))),
        vectors(matrix, timer, 1),
        b(matrix.piece_of(right_hand_sides)),
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

/// A x = A (1, 2, 3, ...)
struct RampSystem : Systems {
  explicit RampSystem(const DenseRows& rows) : Systems(rows, one_two_three(rows.size())) {
    b = matrix.times(one_two_three(rows.size()));
  }
  void expect_solution(double tolerance) const {
    const auto whole = whole_x();
    for (size_t k = 0; k < whole.size(); ++k) EXPECT_NEAR(whole[k], static_cast<double>(k + 1), tolerance);
  }
};

/// Right-hand sides first, first + 1, ... of the line: rising frequencies, and lengths that differ.
Systems wave_systems(int count, size_t first = 0, double growth = 1.0) {
  std::vector<double> b;
  for (size_t row = 0; row < size; ++row) {
    for (size_t number = first + 1; number <= first + static_cast<size_t>(count); ++number)
      b.push_back(std::sin(static_cast<double>(number * (row + 1))) * static_cast<double>(number));
  }
  return {line_rows(size, growth), b, count};
}

TEST(ConjugateGradientTest, SolvesThreeEquationsInThreeSteps) {
  RampSystem system({{4.0, 1.0, 0.0}, {1.0, 3.0, 1.0}, {0.0, 1.0, 2.0}});
  std::ranges::fill(system.x, std::numeric_limits<double>::quiet_NaN());  // overwritten, never read
  const auto result = system.solve(Tolerance({.relative = 1e-14, .most_steps = 10})).front();
  EXPECT_EQ(result.end, SolveEnd::converged);
  EXPECT_EQ(result.step_count, 3);
  EXPECT_DOUBLE_EQ(result.first_residual_norm, std::sqrt(6.0 * 6.0 + 10.0 * 10.0 + 8.0 * 8.0));
  system.expect_solution(1e-14);  // the condition number is below 4: a few roundings of 3
}

/// As in the benchmark.
TEST(ConjugateGradientTest, StepsAfterTheSolutionChangeNothing) {
  RampSystem system(line_rows(23, 1.0));
  const auto result = system.solve(FixedSteps(60)).front();
  EXPECT_EQ(result.end, SolveEnd::step_limit);
  EXPECT_EQ(result.step_count, 60);
  system.expect_solution(1e-10);
}

/// Keeps copies of all that a later solve needs, after one step.
class SnapshotAfter final : public StepObserver {
 public:
  SnapshotAfter(int number, Systems& system) : number_(number), system_(system) {}
  bool after_step(const CgState& state) override {
    if (state.number != number_) return false;
    const auto snapshot = system_.solver.snapshot(state);
    x = system_.x;
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
  Systems& system_;
};

/// From every step, that in which the residual is recomputed among them.
TEST(ConjugateGradientTest, ResumesWithTheSameBits) {
  const Tolerance stop({.relative = 1e-12, .most_steps = 200});
  int step_count = 1;
  for (int number = 1; number <= step_count; ++number) {
    RampSystem whole(line_rows(23, 1.0));
    SnapshotAfter snapshot(number, whole);
    whole.solver.observers().add(snapshot);
    const auto expected = whole.solver.iterate({.b = whole.b, .x = whole.x}, stop).front();
    step_count = expected.state.number;
    EXPECT_EQ(expected.end, SolveEnd::converged);

    RampSystem rest(line_rows(23, 1.0));
    rest.x = snapshot.x;
    const auto resumed =
        rest.solver.iterate({.b = rest.b, .x = rest.x, .snapshot = &snapshot.kept}, stop).front();
    EXPECT_EQ(resumed.end, expected.end) << number;
    EXPECT_EQ(resumed.state.number, expected.state.number) << number;
    EXPECT_TRUE(test::same_bits(resumed.state.residual_square, expected.state.residual_square)) << number;
    EXPECT_TRUE(test::same_bits(resumed.recurrence_norm, expected.recurrence_norm)) << number;
    EXPECT_TRUE(test::same_bits(rest.x, whole.x)) << number;
  }
  EXPECT_GT(step_count, 10);
}

// ---------------------------------------------------------------- several systems

/// A badly scaled matrix: residuals rise and fall.
TEST(SeveralSystemsTest, EachThatFailsHasItsBestIterateAsIfItWereAlone) {
  int earlier_count = 0;
  for (const int most_steps : {1, 3, 6, 9, 12}) {
    const Tolerance tolerance({.relative = 1e-10, .most_steps = most_steps});
    auto several = wave_systems(4, 0, 1.4);
    const auto results = several.solve(tolerance);
    const auto x = several.whole_x();
    for (size_t number = 0; number < results.size(); ++number) {
      SCOPED_TRACE(testing::Message() << "system " << number << ", " << most_steps << " steps");
      auto one = wave_systems(1, number, 1.4);
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
    auto several = wave_systems(count);
    const auto results = several.solve(tolerance);
    const auto x = several.whole_x();
    ASSERT_EQ(results.size(), static_cast<size_t>(count));
    for (size_t number = 0; number < results.size(); ++number) {
      SCOPED_TRACE(testing::Message() << "system " << number << " of " << count);
      auto one = wave_systems(1, number);
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

TEST(SeveralSystemsTest, AStepTakesOneProductAndTwoSumsForAnyNumberOfThem) {
  for (const int count : {1, 2, 4, 8, 16}) {
    auto before = wave_systems(count);
    before.solve(FixedSteps(3));
    auto after = wave_systems(count);
    after.solve(FixedSteps(13));
    EXPECT_EQ(after.matrix.product_count - before.matrix.product_count, 10) << count << " systems";
    EXPECT_EQ(after.matrix.sum_count - before.matrix.sum_count, 20) << count << " systems";
  }
}

// ---------------------------------------------------------------- observers

/// Keeps what it is told, and asks to stop after one of the steps.
class Listener final : public StepObserver {
 public:
  explicit Listener(int last = 0) : last_(last) {}
  void before_step() override { ++begun; }
  bool after_step(const CgState& state) override {
    numbers.push_back(state.number);
    quotients.push_back(state.residual_norm() / state.right_hand_side_norm());
    for (const double positive : {state.rho, state.curvature, state.alpha, state.beta})
      EXPECT_GT(positive, 0.0);
    return state.number == last_;
  }

  int begun = 0;
  std::vector<int> numbers;
  std::vector<double> quotients;

 private:
  int last_;
};

TEST(StepObserversTest, OneOfAllStopsAllAndEachSeesEveryStep) {
  for (const int count : {1, 4}) {
    auto systems = wave_systems(count);
    Listener stopping(3);
    Listener watching;
    Listener removed;
    for (auto* listener : {&stopping, &watching, &removed}) systems.solver.observers().add(*listener);
    systems.solver.observers().remove(removed);
    for (const auto& result : systems.solve(Tolerance({.relative = 1e-12, .most_steps = 100}))) {
      EXPECT_EQ(result.end, SolveEnd::stopped);
      EXPECT_EQ(result.step_count, 3);
    }
    for (const auto* listener : {&stopping, &watching}) {
      EXPECT_EQ(listener->begun, 3);
      EXPECT_EQ(listener->numbers, (std::vector<int>{1, 2, 3}));
    }
    EXPECT_EQ(removed.begun, 0);
  }
}

TEST(StepObserversTest, OneOfAllSeesTheSystemThatIsFarthestFromItsSolution) {
  constexpr int count = 4;
  auto systems = wave_systems(count);
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

TEST(StepObserversTest, OneOfOneSystemStopsThatOne) {
  auto systems = wave_systems(4);
  Listener of_one(2);
  systems.solver.observers_of(1).add(of_one);
  const auto results = systems.solve(Tolerance({.relative = 1e-10, .most_steps = 100}));
  for (size_t number = 0; number < results.size(); ++number)
    EXPECT_EQ(results[number].end, number == 1 ? SolveEnd::stopped : SolveEnd::converged);
  EXPECT_EQ(results[1].step_count, 2);
  EXPECT_EQ(of_one.begun, 2);
}

/// Its last beta is 4e10: a direction that went on with it would leave the range of double precision after thirty steps of the other system.
TEST(StepObserversTest, AStoppedSystemStaysAsItIs) {
  DenseRows rows(size, std::vector<double>(size));
  std::vector<double> b(2 * size, 1.0);
  for (size_t k = 0; k < size; ++k) rows[k][k] = k == 0 ? 1e12 : 1.0;
  b[1] = 1e-6;
  Systems systems(rows, b, 2);
  Listener of_one(1);
  systems.solver.observers_of(1).add(of_one);
  EXPECT_EQ(systems.solve(FixedSteps(60)).back().end, SolveEnd::stopped);
  const auto x = systems.whole_x();
  for (size_t row = 0; row < size; ++row) EXPECT_NEAR(x[2 * row + 1], 23.0 / 24.0 * b[2 * row + 1], 1e-9);
}

// ---------------------------------------------------------------- estimates of the spectrum, compared with spectra that are known

struct Observed {
  SystemSolveResult result;
  SpectrumEstimate spectrum;
};

Observed observe(const test::DenseRows& rows, const StopRule& stop) {
  StepHistory history(1);  // too little room is no error
  const std::vector<StepObserver*> observers{&history};
  const auto result =
      test::solve_rows(rows, test::one_two_three(rows.size()), stop, {.observers = observers}).result;
  return {.result = result, .spectrum = history.estimate()};
}

/// Also where a stagnating solve begins again several times.
TEST(LanczosTest, FindsTheExtremeEigenvaluesOfALine) {
  constexpr int order = 40;
  // 2 - 2 cos(k pi / (order + 1)); this b is orthogonal to no eigenvector.
  const double angle = std::numbers::pi / (order + 1);
  for (const double tolerance : {1e-12, 1e-18}) {
    const auto [result, spectrum] = observe(test::line_rows(order, 1.0), Tolerance({.relative = tolerance}));
    EXPECT_EQ(result.end, tolerance > 1e-16 ? SolveEnd::converged : SolveEnd::stagnated);
    EXPECT_NEAR(spectrum.smallest, 2.0 - 2.0 * std::cos(angle), 1e-9);
    EXPECT_NEAR(spectrum.largest, 2.0 + 2.0 * std::cos(angle), 1e-9);
    if (result.end == SolveEnd::converged) {
      EXPECT_EQ(spectrum.step_count, result.step_count);
    } else {
      EXPECT_GE(result.replacement_count, 1);
    }
  }
}

TEST(LanczosTest, StaysWithinTheSpectrumAndPredictsEnoughSteps) {
  std::vector<double> eigenvalues;
  for (int k = 0; k < 50; ++k) eigenvalues.push_back(std::pow(10.0, 0.08 * k));
  const double condition_number = eigenvalues.back() / eigenvalues.front();
  constexpr double tolerance = 1e-8;
  const auto observed = observe(test::rows_with_spectrum(eigenvalues, 3), Tolerance({.relative = tolerance}));
  EXPECT_EQ(observed.result.end, SolveEnd::converged);
  EXPECT_LE(observed.spectrum.condition_number(), condition_number * (1.0 + 1e-9));
  EXPECT_GE(observed.spectrum.condition_number(), 0.5 * condition_number);
  // The bound is on the error in the norm of A, and the number of eigenvalues bounds the steps as well: here it
  // is the estimate of a smooth spectrum, above the real number by less than a factor of ten.
  EXPECT_GE(observed.spectrum.predicted_steps(tolerance), observed.result.step_count);
  EXPECT_LE(observed.spectrum.predicted_steps(tolerance), 30 * observed.result.step_count);
}

TEST(LanczosTest, PredictionsAreThoseOfTheBound) {
  const SpectrumEstimate hundred{.smallest = 0.5, .largest = 50.0, .step_count = 7};
  EXPECT_DOUBLE_EQ(hundred.condition_number(), 100.0);
  // ln(2e6) / ln(11 / 9)
  EXPECT_DOUBLE_EQ(hundred.predicted_steps(1e-6), 73.0);
  EXPECT_EQ((SpectrumEstimate{.smallest = 2.0, .largest = 2.0, .step_count = 1}).predicted_steps(1e-6), 1.0);
  EXPECT_EQ(SpectrumEstimate{}.predicted_steps(1e-6), 0.0);
}

TEST(LanczosTest, GoesBackToTheEstimateOfAnEarlierStep) {
  const auto see = [](StepHistory& lanczos, int first, int last) {
    CgState state;
    for (int k = first; k <= last; ++k) {
      state.number = k;
      state.alpha = 1.0 / k;
      state.beta = 0.5 / k;
      lanczos.after_step(state);
    }
  };
  StepHistory three(8);
  see(three, 1, 3);
  StepHistory back_from_six(8);
  see(back_from_six, 1, 6);
  see(back_from_six, 3, 3);
  ASSERT_EQ(three.estimate().step_count, 3);
  EXPECT_EQ(back_from_six.estimate().step_count, 3);
  EXPECT_EQ(back_from_six.estimate().smallest, three.estimate().smallest);
  EXPECT_EQ(back_from_six.estimate().largest, three.estimate().largest);
}

TEST(LanczosTest, StepsThatTellNothingLeaveNoEstimate) {
  const auto negative = observe(test::negated(test::line_rows(9, 1.0)), FixedSteps(5));
  EXPECT_EQ(negative.spectrum.step_count, 0);
  EXPECT_EQ(StepHistory(3).estimate().step_count, 0);
}

}  // namespace
}  // namespace cg2d::conjugate_gradient_test
