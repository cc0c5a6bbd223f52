// Estimates of the spectrum from the steps of CG, compared with spectra that are known.

#include "cg/solver/lanczos.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "support/dense_solve.hpp"
#include "support/dense_systems.hpp"

namespace cg2d::lanczos_test {
namespace {

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
  constexpr int size = 40;
  // 2 - 2 cos(k pi / (size + 1)); this b is orthogonal to no eigenvector.
  const double angle = std::numbers::pi / (size + 1);
  for (const double tolerance : {1e-12, 1e-18}) {
    const auto [result, spectrum] = observe(test::line_rows(size, 1.0), Tolerance({.relative = tolerance}));
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
}  // namespace cg2d::lanczos_test
