// Conjugate gradients for one system and for several at once: the same numbers as one after the other, with the calls of one; and what the
// steps tell of the spectrum.

#include "cg/solver/conjugate_gradient.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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
  const auto [result, x] = test::solve({{4.0, 1.0, 0.0}, {1.0, 3.0, 1.0}, {0.0, 1.0, 2.0}}, {6.0, 10.0, 8.0},
                                       Tolerance({.relative = 1e-14, .most_steps = 10}));
  EXPECT_EQ(result.end, SolveEnd::converged);
  EXPECT_EQ(result.step_count, 3);
  EXPECT_DOUBLE_EQ(result.first_residual_norm, std::sqrt(6.0 * 6.0 + 10.0 * 10.0 + 8.0 * 8.0));
  // The condition number is below 4: a few roundings of 3.
  for (size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(x[k], static_cast<double>(k + 1), 1e-14);
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
    Systems whole(line_rows(23, 1.0), one_two_three(23));
    SnapshotAfter snapshot(number, whole);
    whole.solver.observers().add(snapshot);
    const auto expected = whole.solver.iterate({.b = whole.b, .x = whole.x}, stop).front();
    step_count = expected.state.number;
    EXPECT_EQ(expected.end, SolveEnd::converged);

    Systems rest(line_rows(23, 1.0), one_two_three(23));
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

/// Solves several systems at once and one after the other; returns how many of them ended with an earlier iterate than the last. Their sums have
/// other orders, whose differences grow with the steps.
int expect_as_alone(int count, double growth, const ToleranceOptions& options) {
  int earlier_count = 0;
  auto several = wave_systems(count, 0, growth);
  const auto results = several.solve(Tolerance(options));
  const auto x = several.whole_x();
  EXPECT_EQ(results.size(), static_cast<size_t>(count));
  for (size_t number = 0; number < results.size(); ++number) {
    SCOPED_TRACE(testing::Message() << "system " << number << " of " << count << ", " << options.most_steps);
    auto one = wave_systems(1, number, growth);
    const auto alone = one.solve(Tolerance(options)).front();
    const auto& result = results[number];
    const bool converges = options.most_steps == 100;
    if (converges) {
      EXPECT_EQ(result.end, SolveEnd::converged);
      EXPECT_LE(result.true_residual_norm, options.relative * result.right_hand_side_norm);
    }
    EXPECT_NEAR(result.solution_step, alone.solution_step, converges ? 1 : 0);
    EXPECT_NEAR(result.true_residual_norm, alone.true_residual_norm, 1e-9 * alone.right_hand_side_norm);
    EXPECT_NEAR(result.last_residual_norm, alone.last_residual_norm, 1e-9 * alone.right_hand_side_norm);
    // The inverse of the line has a norm of 64, and b one of at most 16 times 5; both solutions have an error.
    const double error = converges ? 2.0 * 64.0 * 80.0 * options.relative : 1e-8;
    const auto x_alone = one.whole_x();
    for (size_t row = 0; row < size; ++row)
      EXPECT_NEAR(x[row * results.size() + number], x_alone[row], error);
    earlier_count += alone.has_kept() ? 1 : 0;
  }
  return earlier_count;
}

TEST(SeveralSystemsTest, EachIsSolvedAsIfItWereAlone) {
  for (const int count : {2, 4, 8, 16}) expect_as_alone(count, 1.0, {.relative = 1e-10, .most_steps = 100});
  int earlier_count = 0;
  // A badly scaled matrix: residuals rise and fall, and those that fail have their best iterates.
  for (const int most_steps : {1, 3, 6, 9, 12})
    earlier_count += expect_as_alone(4, 1.4, {.relative = 1e-10, .most_steps = most_steps});
  EXPECT_GT(earlier_count, 3);
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

/// Its last beta is 4e10: a direction that went on with it would leave the range of double precision after thirty steps of the other system.
TEST(StepObserversTest, AStoppedSystemStaysAsItIs) {
  DenseRows rows(size, std::vector<double>(size));
  std::vector<double> b(2 * size, 1.0);
  for (size_t k = 0; k < size; ++k) rows[k][k] = k == 0 ? 1e12 : 1.0;
  b[1] = 1e-6;
  Systems systems(rows, b, 2);
  Listener of_one(1);
  systems.solver.observers_of(1).add(of_one);
  const auto results = systems.solve(FixedSteps(60));
  EXPECT_EQ(results.front().end, SolveEnd::step_limit);
  EXPECT_EQ(results.back().end, SolveEnd::stopped);
  EXPECT_EQ(results.back().step_count, 1);
  EXPECT_EQ(of_one.begun, 1);
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
      test::solve(rows, test::one_two_three(rows.size()), stop, {.observers = observers}).result;
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
