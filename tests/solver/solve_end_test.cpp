// How solves end: every system with its name, and none called converged that is not.

#include "cg/solver/solve_end.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/solver/lanczos.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "support/dense_operator.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::solve_end_test {
namespace {

using test::DenseOperator;
using test::DenseRows;
using test::line_rows;
using test::negated;
using test::one_two_three;
using test::solve;
using test::SolveOptions;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(SolveEndTest, TheLargerToleranceCounts) {
  const Tolerance both({.relative = 0.25, .absolute = 3.0});
  EXPECT_EQ(both.residual_norm_for(8.0), 3.0);
  EXPECT_EQ(both.residual_norm_for(16.0), 4.0);
}

TEST(SolveEndTest, ConvergenceIsDeclaredFromTheRecomputedResidual) {
  DenseOperator matrix(line_rows(23, 1.1));
  const auto result = solve(matrix, one_two_three(23), Tolerance({.relative = 1e-10})).result;
  EXPECT_EQ(result.end, SolveEnd::converged);
  EXPECT_LE(result.true_residual_norm, 1e-10 * result.right_hand_side_norm);
  EXPECT_LE(result.residual_norm, 1e-10 * result.right_hand_side_norm);
  EXPECT_EQ(result.replacement_count, 0);
  // One more product and one more sum than the steps need.
  EXPECT_EQ(matrix.product_count, result.step_count + 1);
  EXPECT_EQ(matrix.sum_count, 1 + 2 * result.step_count + 1);
  EXPECT_TRUE(contains(sentence_of(result), "recomputed")) << sentence_of(result);
}

/// Its products are multiplied by factor_of(number), number from 1.
class DisturbedOperator final : public DenseOperator {
 public:
  DisturbedOperator(DenseRows rows, double (*factor_of)(int number))
      : DenseOperator(std::move(rows)), factor_of_(factor_of) {}
  void apply() override {
    DenseOperator::apply();
    for (double& element : q_) element *= factor_of_(product_count);
  }

 private:
  double (*factor_of_)(int number);
};

TEST(SolveEndTest, ARecurrenceThatDriftedGoesOnFromTheRecomputedResidual) {
  DisturbedOperator matrix(line_rows(23, 1.0), [](int number) { return number <= 5 ? 1.001 : 1.0; });
  const auto result = solve(matrix, one_two_three(23), Tolerance({.relative = 1e-10})).result;
  EXPECT_EQ(result.end, SolveEnd::converged);
  EXPECT_GE(result.replacement_count, 1);
  EXPECT_LE(result.true_residual_norm, 1e-10 * result.right_hand_side_norm);
}

/// A diagonal from 10 ^ high downwards, over so many decades.
DenseRows diagonal_rows(size_t size, double high, double decades) {
  DenseRows rows(size, std::vector<double>(size));
  for (size_t k = 0; k < size; ++k)
    rows[k][k] = std::pow(10.0, high - decades * static_cast<double>(k) / static_cast<double>(size - 1));
  return rows;
}

// Parts of sentences.
constexpr const char* singular = "singular to double precision";
constexpr const char* out_of_range = "leave the range of double precision";

/// A system with its end. quantity_step -1: any.
struct EndCase {
  DenseRows rows;
  std::vector<double> b;
  SolveEnd end;
  std::string_view quantity = "";
  int quantity_step = -1;
  std::vector<const char*> words{};  ///< of the sentence
  int most_steps = ToleranceOptions{}.most_steps;
};

std::vector<EndCase> end_cases() {
  using enum SolveEnd;
  const auto line = line_rows(9, 1.0);
  const auto ramp = one_two_three(9);
  const auto scaled = [](std::vector<double> vector, double factor) {
    for (auto& element : vector) element *= factor;
    return vector;
  };
  auto huge = line;
  for (auto& row : huge) row = scaled(row, 1e300);
  // The second difference with free ends: constants are in its null space, and b is not in its range.
  auto free_ends = line_rows(30, 1.0);
  free_ends.front().front() = free_ends.back().back() = 1.0;
  std::vector<EndCase> cases{
      {line_rows(23, 1.0), one_two_three(23), step_limit, "", -1, {"iteration limit: after 4 steps"}, 4},
      {negated(line), ramp, not_positive_definite, "p . A p", 1, {"p . A p is -", "in step 1"}},
      // The first direction sees a positive mean, the second one the negative eigenvalue.
      {{{1, 0, 0}, {0, -2, 0}, {0, 0, 3}}, {1.0, 1.0, 1.0}, not_positive_definite, "p . A p", 2},
      {DenseRows(2, std::vector<double>(2)), {1.0, 1.0}, stagnated, "p . A p", -1, {singular}},
      {free_ends, one_two_three(30), stagnated, "p . A p", -1, {singular}},
      // Rounding, or the size of numbers that are finite, is no fault of the input.
      {huge, std::vector<double>(9, 1e20), stagnated, "p . A p", 1, {out_of_range, "jacobi"}}};
  // Dirichlet conditions by a penalty, as finite-element codes set them: the condition number exceeds 1 / eps, and every step is one of a
  // positive definite matrix.
  for (const double penalty : {1e16, 1e20, 1e30}) {
    auto rows = line_rows(40, 1.0);
    rows[0][0] += penalty;
    rows[23][23] += penalty;
    std::vector<double> b(40, 1.0);
    b[0] = b[23] = 0.0;
    cases.push_back({rows, b, converged, "", -1, {}, 200});
  }
  for (const double bad : {nan, infinity, -infinity}) {
    auto b = ramp;
    b[4] = bad;
    cases.push_back({line, b, not_finite, "b . b", 0, {"before the first step"}});
    auto rows = line;
    rows[3][3] = bad;
    cases.push_back({rows, ramp, not_finite, "p . A p", 1});
  }
  // Squares that leave the range.
  for (const double scale : {1e-200, 1e-150, 1e200})
    cases.push_back({line, scaled(ramp, scale), stagnated, "b . b", -1, {"scale"}});
  return cases;
}

TEST(SolveEndTest, EverySystemEndsWithItsName) {
  for (const auto& test : end_cases()) {
    const auto [result, x] = solve(test.rows, test.b, Tolerance({.most_steps = test.most_steps}));
    const auto sentence = sentence_of(result);
    SCOPED_TRACE(sentence);
    EXPECT_EQ(result.end, test.end);
    EXPECT_EQ(result.quantity, test.quantity);
    if (test.quantity_step >= 0) {
      EXPECT_EQ(result.quantity_step, test.quantity_step);
    }
    for (const auto* words : test.words) EXPECT_TRUE(contains(sentence, words)) << words;
    if (contains(sentence, singular)) {
      EXPECT_LE(std::abs(result.quantity_value), result.quantity_rounding);
    }
    // A negative curvature ends the step before x changes.
    if (result.end != SolveEnd::not_positive_definite || result.step_count > 0) continue;
    EXPECT_LT(result.quantity_value, 0.0);
    for (const double element : x) EXPECT_EQ(element, 0.0);
  }
  // With an absolute tolerance x = 0 is good enough for squares that leave the range.
  const auto tiny = solve(line_rows(3, 1.0), {1e-150, 0.0, 0.0}, Tolerance({.absolute = 1e-100})).result;
  EXPECT_EQ(tiny.end, SolveEnd::converged);
  EXPECT_EQ(tiny.step_count, 0);
}

/// 30 eigenvalues over 400 decades.
TEST(SolveEndTest, AResidualThatIsNotMadeSmallerStagnatesBeforeTheStepLimit) {
  auto result = solve(diagonal_rows(30, 200.0, 400.0), std::vector<double>(30, 1.0), Tolerance({})).result;
  EXPECT_EQ(result.end, SolveEnd::stagnated) << sentence_of(result);
  EXPECT_LT(result.step_count, 5000);
  result.quantity = "r . r";  // in place of p . A p, if that was zero to rounding first
  EXPECT_TRUE(contains(sentence_of(result), "jacobi")) << sentence_of(result);
  // Nothing solves it without a preconditioner in so few steps: 40 eigenvalues over 570 decades.
  auto other = solve(diagonal_rows(40, 300.0, 570.0), std::vector<double>(40, 1.0), Tolerance({})).result;
  EXPECT_EQ(other.end, SolveEnd::stagnated) << sentence_of(other);
  other.condition_number = 1e25;  // by whoever watched the steps
  EXPECT_TRUE(contains(sentence_of(other), "condition number: 1e+25 or more")) << sentence_of(other);
}

TEST(SolveEndTest, AProductThatBecomesNanIsNamedWithItsStep) {
  DisturbedOperator late(line_rows(9, 1.0), [](int number) { return number >= 3 ? nan : 1.0; });
  const auto result = solve(late, one_two_three(9), Tolerance({})).result;
  EXPECT_EQ(result.end, SolveEnd::not_finite);
  EXPECT_EQ(result.quantity_step, 3);
}

/// M^-1 = -1
class NegativePreconditioner final : public Preconditioner {
 public:
  explicit NegativePreconditioner(size_t size) : negative_(size) {}
  std::span<const double> apply(std::span<const double> r, DistributedVectors& vectors) override {
    vectors.updates()->set_scaled(-1.0, r, negative_);
    return negative_;
  }

 private:
  std::vector<double> negative_;
};

TEST(SolveEndTest, APreconditionerThatIsNotPositiveDefiniteIsNamed) {
  DenseOperator matrix(line_rows(9, 1.0));
  NegativePreconditioner negative(matrix.local_size());
  const auto result = solve(matrix, one_two_three(9), Tolerance({}), {.made = &negative}).result;
  EXPECT_EQ(result.end, SolveEnd::not_positive_definite);
  EXPECT_EQ(result.quantity, "r . M^-1 r");
  EXPECT_TRUE(contains(sentence_of(result), "the preconditioner is not")) << sentence_of(result);
}

TEST(SolveEndTest, ARightHandSideOfZerosIsSolvedAtOnce) {
  for (const bool has_guess : {false, true}) {
    SolveOptions options;
    if (has_guess) options.guess.emplace(9, 7.0);
    const auto [result, x] = solve(line_rows(9, 1.0), std::vector<double>(9), Tolerance({}), options);
    EXPECT_EQ(result.end, SolveEnd::zero_right_hand_side);
    EXPECT_EQ(result.step_count, 0);
    EXPECT_EQ(result.residual_norm, 0.0);
    EXPECT_EQ(result.true_residual_norm, 0.0);
    for (const double element : x) EXPECT_EQ(element, 0.0);
    EXPECT_TRUE(contains(sentence_of(result), "x = 0")) << sentence_of(result);
  }
}

TEST(SolveEndTest, AGoodGuessNeedsNoStepAWrongOneIsNoReferenceAndABadOneIsInput) {
  DenseOperator matrix(line_rows(9, 1.0));
  const auto b = DenseOperator::whole(matrix.times(one_two_three(9)));
  const auto solve_from = [&](const std::vector<double>& guess) {
    return solve(matrix, b, Tolerance({.relative = 1e-10}), {.guess = guess}).result;
  };
  const auto exact = solve_from(one_two_three(9));
  EXPECT_EQ(exact.end, SolveEnd::converged);
  EXPECT_EQ(exact.step_count, 0);
  auto three_quarters = one_two_three(9);
  for (double& element : three_quarters) element *= 0.75;
  const auto near = solve(matrix, b, Tolerance({.relative = 0.5}), {.guess = three_quarters}).result;
  EXPECT_EQ(near.step_count, 0);
  EXPECT_GT(near.residual_norm, 0.0);
  EXPECT_EQ(near.residual_norm, near.first_residual_norm);
  // The tolerance is relative to b, not to the residual of the guess.
  const auto wrong = solve_from(std::vector<double>(9, 1e9));
  EXPECT_EQ(wrong.end, SolveEnd::converged);
  EXPECT_GT(wrong.first_residual_norm, 1e3 * wrong.right_hand_side_norm);
  EXPECT_LE(wrong.true_residual_norm, 1e-10 * wrong.right_hand_side_norm);
  const auto bad = solve_from({0, 0, infinity, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(bad.end, SolveEnd::not_finite);
  EXPECT_EQ(bad.quantity, "r . r");
}

/// 40 eigenvalues over 14 decades: residuals rise by decades before they fall, and no limit comes when it suits. x is the iterate with
/// less than twice the smallest residual of all, which it has (by one more product; rounding of 1e-12).
TEST(SolveEndTest, TheAnswerOfASolveThatFailsIsItsBestIterate) {
  const auto rows = diagonal_rows(40, 0.0, 14.0);
  const auto b = std::vector<double>(40, 1.0);
  for (const auto& variant : cg_variant_table()) {
    int earlier_count = 0;
    for (int most_steps = 1; most_steps <= 60; ++most_steps) {
      SCOPED_TRACE(std::string(variant.name) + ", " + std::to_string(most_steps) + " steps");
      DenseOperator matrix(rows);
      StepHistory history(most_steps);
      const std::array<StepObserver*, 1> observers{&history};
      const auto [result, x] = solve(matrix, b, Tolerance({.relative = 1e-15, .most_steps = most_steps}),
                                     {.variant = variant, .observers = observers});
      ASSERT_TRUE(has_failed(result.end)) << sentence_of(result);
      auto residual = DenseOperator::whole(matrix.times(x));
      for (size_t k = 0; k < x.size(); ++k) residual[k] -= b[k];
      const double norm =
          std::sqrt(std::inner_product(residual.begin(), residual.end(), residual.begin(), 0.0));
      EXPECT_NEAR(result.true_residual_norm, norm, 1e-12 * result.right_hand_side_norm);
      EXPECT_LE(result.true_residual_norm, 2.0 * std::ranges::min(history.norms()) * (1.0 + 1e-6));
      EXPECT_LE(result.true_residual_norm, result.last_residual_norm);
      EXPECT_EQ(result.has_kept(), contains(sentence_of(result), "the best that was kept"));
      earlier_count += result.has_kept() ? 1 : 0;
    }
    EXPECT_GT(earlier_count, 10) << variant.name;
  }
  // So many steps are asked for as they are.
  EXPECT_FALSE(solve(rows, b, FixedSteps(3)).result.has_kept());
}

/// Advice looks at what was asked for: a system with a preconditioner is scaled already, and has limits of its own.
TEST(SolveEndTest, NobodyWhoHasAPreconditionerIsToldToTakeJacobi) {
  for (const auto end : {SolveEnd::step_limit, SolveEnd::stagnated}) {
    for (const std::string_view quantity : {"", "r . r", "r . M^-1 r"}) {
      SystemSolveResult result{.end = end, .quantity = quantity, .condition_number = 1e9};
      if (quantity == "r . M^-1 r") result.quantity_value = infinity;
      const auto without = sentence_of(result);
      result.has_preconditioner = true;
      const auto with = sentence_of(result);
      EXPECT_EQ(contains(without, "jacobi"), end == SolveEnd::stagnated) << without;
      EXPECT_FALSE(contains(with, "jacobi")) << with;
      EXPECT_TRUE(contains(with, "another preconditioner")) << with;
      EXPECT_FALSE(contains(without, "another preconditioner")) << without;
      EXPECT_TRUE(contains(with, "condition number with the preconditioner: 1e+09")) << with;
    }
  }
  const auto below = solve(line_rows(60, 1.0), one_two_three(60), Tolerance({.relative = 1e-18}),
                           {.preconditioner = *find_preconditioner("jacobi")})
                         .result;
  EXPECT_TRUE(contains(sentence_of(below), "for this system with this preconditioner")) << sentence_of(below);
  EXPECT_EQ(below.end, SolveEnd::stagnated);
  EXPECT_LE(below.residual_norm, 1e-18 * below.right_hand_side_norm) << "the recurrence parted from b - A x";
  EXPECT_GT(below.true_residual_norm, 1e-18 * below.right_hand_side_norm);
}

}  // namespace
}  // namespace cg2d::solve_end_test
