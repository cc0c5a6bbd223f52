// All forms of CG: the sums that their rows say, and the same ends. (That they solve systems of any
// condition number is said by tests/run/hard_systems_test.cpp.)

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cg/solver/lanczos.hpp"
#include "support/dense_operator.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::cg_variants_test {
namespace {

using test::DenseOperator;
using test::group;

SystemSolveResult solve_rows(const CgVariantRow& variant, const test::DenseRows& rows,
                             const std::vector<double>& b, const StopRule& stop,
                             std::span<StepObserver* const> observers = {}) {
  return test::solve(rows, b, stop, {.variant = variant, .observers = observers}).result;
}

template <typename Visit>
void for_every_variant(const Visit& visit) {
  for (const auto& variant : cg_variant_table()) {
    SCOPED_TRACE(std::string(variant.name));
    visit(variant);
  }
}

/// Writes down the order of calls.
class LoggingOperator final : public DenseOperator {
 public:
  using DenseOperator::DenseOperator;
  void apply() override {
    log += 'p';
    DenseOperator::apply();
  }
  void sum_over_ranks(std::span<double> values) override {
    log += 's';
    DenseOperator::sum_over_ranks(values);
  }
  /// The values are those of the end: a caller that changes or reads them earlier gets wrong results.
  void begin_sum_over_ranks(std::span<double> values) override {
    log += '<';
    sums_.assign(values.begin(), values.end());
    values_ = values;
    std::ranges::fill(values, std::numeric_limits<double>::quiet_NaN());
  }
  void finish_sum_over_ranks() override {
    log += '>';
    DenseOperator::sum_over_ranks(sums_);
    std::ranges::copy(sums_, values_.begin());
  }

  std::string log;

 private:
  std::vector<double> sums_;
  std::span<double> values_;
};

std::string log_of(const CgVariantRow& variant, int step_count,
                   const PreconditionerRow& row = preconditioner_table().front()) {
  LoggingOperator matrix(test::line_rows(23, 1.0));
  const auto preconditioner = test::make_preconditioner(row, matrix);
  matrix.log.clear();
  const auto b = matrix.piece_of(test::one_two_three(23));
  std::vector<double> x(b.size());
  PhaseTimer timer;
  DistributedVectors vectors(matrix, timer, 1);
  ConjugateGradient conjugate_gradient(matrix, *preconditioner, vectors, variant);
  static_cast<void>(conjugate_gradient.iterate({.b = b, .x = x}, FixedSteps(step_count)));
  return matrix.log;
}

TEST(CgVariantTest, AStepHasTheSumsOfItsRowAndPipelinedOnesAreUnderWayDuringTheProduct) {
  EXPECT_EQ(log_of(*find_cg_variant("classic"), 3),
            "s"
            "pss"
            "pss"
            "pss");
  EXPECT_EQ(log_of(*find_cg_variant("chronopoulos-gear"), 3),
            "ps"
            "ps"
            "ps"
            "ps");
  EXPECT_EQ(log_of(*find_cg_variant("pipelined"), 3),
            "p<p>"
            "<p>"
            "<p>"
            "<p>");
  for_every_variant([](const CgVariantRow& variant) {
    for (const auto& row : preconditioner_table()) {
      SCOPED_TRACE(std::string(row.name));
      const auto sums = [&](int steps) {
        const auto log = log_of(variant, steps, row);
        return std::ranges::count(log, 's') + std::ranges::count(log, '<');
      };
      EXPECT_EQ(sums(20) - sums(10), 10 * variant.sums_per_step);
    }
  });
}

TEST(CgVariantTest, ThePipelinedFormReplacesItsVectorsEveryFiftySteps) {
  const auto& variant = *find_cg_variant("pipelined");
  const auto products = [&](int steps) { return std::ranges::count(log_of(variant, steps), 'p'); };
  EXPECT_EQ(products(49) - products(48), 1);
  EXPECT_EQ(products(50) - products(49), 5);
  EXPECT_EQ(products(51) - products(50), 1);
  EXPECT_EQ(products(100) - products(99), 5) << "again and again";
}

/// A form whose every step says that rounding has spoiled it.
class SpoiledRecurrence final : public CgRecurrence {
 public:
  using CgRecurrence::CgRecurrence;
  void begin(std::span<CgSystem> systems) override {
    auto& state = systems.front().state;
    state.rho = state.residual_square = vectors_.dot(r_, r_);
  }
  void step(std::span<CgSystem> systems, const LinearSystem& /*pieces*/, const StopRule& /*stop*/) override {
    systems.front().is_asked = true;
    systems.front().end = SolveEnd::stagnated;
  }
};

TEST(CgVariantTest, TheClassicFormGoesOnWhereRoundingSpoilsAnother) {
  const CgVariantRow spoiled{.name = "spoiled",
                             .make = [](const CgParts& parts) -> std::unique_ptr<CgRecurrence> {
                               return std::make_unique<SpoiledRecurrence>(parts);
                             }};
  const auto rows = test::line_rows(40, 1.05);
  const auto b = test::one_two_three(40);
  const auto alone = solve_rows(cg_variant_table().front(), rows, b, Tolerance({}));
  EXPECT_EQ(alone.classic_step_count, 0);
  const auto result = solve_rows(spoiled, rows, b, Tolerance({}));
  EXPECT_EQ(result.end, SolveEnd::converged) << sentence_of(result);
  EXPECT_EQ(result.step_count, alone.step_count);
  EXPECT_EQ(result.classic_step_count, alone.step_count);
}

TEST(CgVariantTest, MatricesThatAreNotPositiveDefiniteAreNamed) {
  const int system_count = group().size() == 1 ? 60 : 8;
  for (int seed = 0; seed < system_count; ++seed) {
    const size_t size = 5 + static_cast<size_t>(seed) % 31;
    std::vector<double> eigenvalues;
    for (size_t k = 0; k < size; ++k)
      eigenvalues.push_back(std::pow(1000.0, static_cast<double>(k) / static_cast<double>(size - 1)));
    eigenvalues[static_cast<size_t>(seed) % size] *= -1.0;
    const auto rows = test::rows_with_spectrum(eigenvalues, static_cast<unsigned>(seed));
    for_every_variant([&](const CgVariantRow& variant) {
      const auto result = solve_rows(variant, rows, test::one_two_three(size), Tolerance({}));
      EXPECT_EQ(result.end, SolveEnd::not_positive_definite)
          << "system " << seed << ": " << sentence_of(result);
      EXPECT_LE(result.quantity_value, 0.0);
    });
  }
}

TEST(CgVariantTest, TheOtherEndsHaveTheirNames) {
  for_every_variant([](const CgVariantRow& variant) {
    const auto rows = test::line_rows(60, 1.0);
    auto b = test::one_two_three(60);
    EXPECT_EQ(solve_rows(variant, rows, b, Tolerance({.relative = 1e-18})).end, SolveEnd::stagnated);
    EXPECT_EQ(solve_rows(variant, rows, b, Tolerance({.most_steps = 7})).end, SolveEnd::step_limit);
    EXPECT_EQ(solve_rows(variant, rows, std::vector<double>(60), Tolerance({})).end,
              SolveEnd::zero_right_hand_side);
    b[3] = std::numeric_limits<double>::quiet_NaN();
    const auto nan = solve_rows(variant, rows, b, Tolerance({}));
    EXPECT_EQ(nan.end, SolveEnd::not_finite);
    EXPECT_EQ(nan.quantity, "b . b");
  });
}

/// The residuals of the recurrence go on towards numbers whose squares are zero: no sign of anything but a tolerance that
/// nothing meets.
TEST(CgVariantTest, AToleranceOfZeroStagnatesOrIsMetExactly) {
  for_every_variant([](const CgVariantRow& variant) {
    for (const size_t size : {1U, 2U, 9U, 40U}) {
      const auto result = solve_rows(variant, test::line_rows(size, 1.0), test::one_two_three(size),
                                     Tolerance({.relative = 0.0}));
      SCOPED_TRACE(std::to_string(size) + ": " + sentence_of(result));
      EXPECT_TRUE(result.end == SolveEnd::stagnated || result.end == SolveEnd::converged);
      EXPECT_EQ(result.end == SolveEnd::converged, result.true_residual_norm == 0.0);
      EXPECT_LE(result.true_residual_norm, 1e-12 * result.right_hand_side_norm);
    }
  });
}

TEST(CgVariantTest, AllTakeTheStepsOfTheClassicFormAndSeeTheSameSpectrum) {
  std::vector<int> steps;
  std::vector<double> condition_numbers;
  for_every_variant([&](const CgVariantRow& variant) {
    StepHistory lanczos(100);
    const std::array<StepObserver*, 1> observers{&lanczos};
    const auto result = solve_rows(variant, test::line_rows(40, 1.05), test::one_two_three(40),
                                   Tolerance({.relative = 1e-8}), observers);
    steps.push_back(result.step_count);
    condition_numbers.push_back(lanczos.estimate().condition_number());
  });
  for (const int count : steps) EXPECT_NEAR(count, steps.front(), 1);
  for (const double number : condition_numbers)
    EXPECT_NEAR(number, condition_numbers.front(), 1e-3 * condition_numbers.front());
}

TEST(CgVariantTest, FixedStepsSolveNegativeDefiniteSystems) {
  for_every_variant([](const CgVariantRow& variant) {
    const auto result =
        solve_rows(variant, test::negated(test::line_rows(23, 1.0)), test::one_two_three(23), FixedSteps(23));
    EXPECT_LE(result.true_residual_norm, 1e-10 * result.right_hand_side_norm);
  });
}

}  // namespace
}  // namespace cg2d::cg_variants_test
