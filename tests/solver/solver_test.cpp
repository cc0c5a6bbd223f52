// The benchmark's iteration on every grid of the ranks, against the official program's zeta of every outer
// step.

#include "cg/solver/npb_iteration.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "support/bits.hpp"
#include "support/layouts.hpp"
#include "support/npb_reference.hpp"
#include "support/solver_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::solver_test {
namespace {

using test::group;
using test::SolverConfig;

/// Every transport with each form of the sum that it has.
std::vector<SolverConfig> every_transport() {
  std::vector<SolverConfig> configs;
  for (const auto* transport : test::usable_transports()) {
    for (const auto form : transport->sum_forms)
      configs.push_back({.sum_form = form, .transport = transport});
  }
  return configs;
}

/// Every kernel.
std::vector<SolverConfig> every_kernel() {
  std::vector<SolverConfig> configs;
  for (const auto* kernel : test::usable_kernels()) configs.push_back({.kernel = kernel});
  return configs;
}

/// visit(layout, config) for every grid of the ranks and every config, with the pieces of class S even.
template <typename Visit>
void for_every_grid(const std::vector<SolverConfig>& configs, const Visit& visit) {
  for (const auto& grid : comm::factorizations(group().size())) {
    for (const auto& config : configs) {
      SCOPED_TRACE("grid " + grid.name() + ", " + test::describe(config));
      visit(comm::BlockLayout::even(find_class("S")->n, grid), config);
    }
  }
}

void expect_official_steps(const std::vector<OuterStep>& steps, const Problem& problem,
                           std::span<const double> zetas = test::class_s_zetas) {
  ASSERT_EQ(steps.size(), static_cast<size_t>(problem.niter));
  test::expect_official_zetas(steps, zetas);
  for (size_t k = 0; k < steps.size(); ++k) {
    // The official residuals are 1e-13 in the first step and 2e-15 after it: rounding noise, so only the
    // magnitude can agree.
    EXPECT_GT(steps[k].residual_norm, 0.0);
    EXPECT_LT(steps[k].residual_norm, k == 0 ? 1e-12 : 1e-14) << "outer step " << k + 1;
    EXPECT_FALSE(steps[k].stop_asked);
  }
}

/// Class S; by default its first steps only where ranks outnumber cores: a wrong product shows in the first one already.
Problem class_s() {
  auto problem = *find_class("S");
  if (group().size() > 2) {
    problem.niter = test::by_extent(4, problem.niter);
    problem.reference_zeta = test::class_s_zetas[static_cast<size_t>(problem.niter) - 1];
  }
  return problem;
}

TEST(SolverTest, ClassSHasTheOfficialZetasWithEveryKernelOnEveryGrid) {
  const auto problem = class_s();
  for_every_grid(every_kernel(), [&](const comm::BlockLayout& layout, const SolverConfig& config) {
    const auto steps = test::solve(problem, layout, config);
    expect_official_steps(steps, problem);
    EXPECT_TRUE(meets_reference(problem, steps.back().zeta));
  });
}

TEST(SolverTest, ClassSOnUnevenAndEmptyPieces) {
  const auto problem = class_s();
  test::for_every_layout(problem.n, group().size(), [&](const test::NamedLayout& named) {
    expect_official_steps(test::solve(problem, named.layout, {}), problem);
  });
}

TEST(SolverTest, ClassWHasTheOfficialZetas) {
  const auto& problem = *find_class("W");
  const auto grid = comm::factorizations(group().size()).back();
  expect_official_steps(test::solve(problem, comm::BlockLayout::even(problem.n, grid), {}), problem,
                        test::class_w_zetas);
}

TEST(SolverTest, ClassSByEveryTransportOnEveryGridHasTheSameBitsOnEveryRankAndEveryTime) {
  auto problem = *find_class("S");
  problem.niter = test::by_extent(group().size() > 4 ? 2 : 4, problem.niter);
  for_every_grid(every_transport(), [&](const comm::BlockLayout& layout, const SolverConfig& config) {
    const auto steps = test::solve(problem, layout, config);
    expect_official_steps(steps, problem);
    const auto first = test::figures_of(steps);
    for (const auto& others : group().gather_all(std::span<const double>(first))) {
      EXPECT_TRUE(test::same_bits(others, first));
    }
    EXPECT_TRUE(test::same_bits(test::figures_of(test::solve(problem, layout, config)), first));
  });
}

/// 25 CG steps solve systems of this order to rounding, and more: the steps after the solution must change nothing.
TEST(SolverTest, TinyProblemsHaveTheZetasOfOneRankOnAnyCut) {
  for (auto problem : {test::custom_problem(1, 1), test::custom_problem(2, 2), test::custom_problem(5, 1),
                       test::custom_problem(5, 5), test::custom_problem(7, 3)}) {
    problem.niter = 3;
    const auto expected = test::figures_of_one_rank(problem, {});
    test::for_every_layout(problem.n, group().size(), [&](const test::NamedLayout& named) {
      const auto figures = test::figures_of(test::solve(problem, named.layout, {}));
      EXPECT_EQ(figures.size(), expected.size());
      for (size_t k = 0; k < figures.size(); k += 2) {
        EXPECT_TRUE(std::isfinite(figures[k + 1]));
        // zeta is the difference of the shift 10 and a number near it: 1e-13 is a hundred roundings of 10, of either.
        EXPECT_NEAR(figures[k], expected[k], 2e-13 * problem.shift) << "nonzer " << problem.nonzer;
      }
    });
  }
}

// ---------------------------------------------------------------- faults that a run notices

/// A solver on the smallest grid of the ranks, for tests of single steps.
struct SingleSteps {
  explicit SingleSteps(const Problem& problem)
      : layout(comm::BlockLayout::even(problem.n, comm::factorizations(group().size()).front())),
        matrix(test::assembled(default_source().make(problem)->build(layout, group(), 1).block, layout, {})),
        solver(*matrix, problem.shift) {}

  comm::BlockLayout layout;
  std::unique_ptr<AssembledOperator> matrix;
  NpbIteration solver;
};

TEST(SolverTest, OneRanksWishToStopReachesAll) {
  const auto& problem = *find_class("S");
  SingleSteps steps(problem);
  for (int wishing = 0; wishing < group().size(); ++wishing) {
    EXPECT_TRUE(steps.solver.outer_step(group().rank() == wishing).stop_asked);
    EXPECT_FALSE(steps.solver.outer_step().stop_asked);
  }
}

TEST(SolverTest, ResetStartsAgainFromOnes) {
  const auto& problem = *find_class("S");
  SingleSteps steps(problem);
  const auto first = steps.solver.outer_step();
  const auto second = steps.solver.outer_step();
  EXPECT_FALSE(test::same_bits(second.zeta, first.zeta));
  steps.solver.reset();
  const auto again = steps.solver.outer_step();
  EXPECT_TRUE(test::same_bits(again.zeta, first.zeta));
  EXPECT_TRUE(test::same_bits(again.residual_norm, first.residual_norm));
}

TEST(SolverTest, NoticesTheSignsOfTheCurvature) {
  const auto& negative = *find_class("S");  // the stored matrix of every class is negative definite
  SingleSteps official(negative);
  static_cast<void>(official.solver.outer_step());
  EXPECT_TRUE(official.solver.curvature_signs().saw_negative);
  EXPECT_FALSE(official.solver.curvature_signs().saw_positive);
  EXPECT_FALSE(official.solver.curvature_signs().indefinite());

  auto positive = negative;
  positive.shift = 0.0;  // a sum of squares and rcond: positive definite
  SingleSteps unshifted(positive);
  static_cast<void>(unshifted.solver.outer_step());
  EXPECT_TRUE(unshifted.solver.curvature_signs().saw_positive);
  EXPECT_FALSE(unshifted.solver.curvature_signs().indefinite());

  auto indefinite = negative;
  indefinite.shift = 2.0;  // within the spectrum, whose upper end is above the largest diagonal entry
  SingleSteps between(indefinite);
  static_cast<void>(between.solver.outer_step());
  EXPECT_TRUE(between.solver.curvature_signs().indefinite());
  between.solver.reset();
  EXPECT_FALSE(between.solver.curvature_signs().saw_negative);
  EXPECT_FALSE(between.solver.curvature_signs().saw_positive);
}

}  // namespace
}  // namespace cg2d::solver_test
