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
#include "support/npb_facts.hpp"
#include "support/npb_reference.hpp"
#include "support/solver_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::solver_test {
namespace {

using test::group;
using test::SolverConfig;

std::string describe(const SolverConfig& config) {
  return "transport " + std::string(config.transport->name) + ", kernel " + std::string(config.kernel->name) +
         (config.sum_form == comm::SumForm::whole_block ? ", whole block" : ", reduce-scatter");
}

/// Every transport with each form of the sum that it has.
std::vector<SolverConfig> every_transport() {
  std::vector<SolverConfig> configs;
  for (const auto& transport : comm::transport_table()) {
    if (!transport.why_unavailable(group()).empty()) continue;
    for (const auto form : transport.sum_forms) {
      configs.push_back({.sum_form = form, .transport = &transport});
    }
  }
  return configs;
}

/// Every kernel.
std::vector<SolverConfig> every_kernel() {
  std::vector<SolverConfig> configs;
  for (const auto& kernel : kernels::kernel_table()) {
    if (kernel.why_unavailable().empty()) configs.push_back({.kernel = &kernel});
  }
  return configs;
}

/// visit(layout, config) for every grid of the ranks and every config, with the pieces of class S even.
template <typename Visit>
void for_every_grid(const std::vector<SolverConfig>& configs, const Visit& visit) {
  for (const auto& grid : comm::factorizations(group().size())) {
    for (const auto& config : configs) {
      SCOPED_TRACE("grid " + grid.name() + ", " + describe(config));
      visit(comm::BlockLayout::even(find_class("S")->n, grid), config);
    }
  }
}

void expect_official_zetas(const std::vector<OuterStep>& steps, std::span<const double> zetas) {
  ASSERT_EQ(steps.size(), zetas.size());
  for (size_t k = 0; k < steps.size(); ++k) {
    // Another order of additions moves zeta by rounding errors only; the printed figures are good to 1e-14.
    EXPECT_NEAR(steps[k].zeta, zetas[k], test::relative_tolerance * zetas[k]) << "outer step " << k + 1;
    // The official residuals are 1e-13 in the first step and 2e-15 after it: rounding noise, so only the
    // magnitude can agree.
    EXPECT_GT(steps[k].residual_norm, 0.0);
    EXPECT_LT(steps[k].residual_norm, k == 0 ? 1e-12 : 1e-14) << "outer step " << k + 1;
    EXPECT_FALSE(steps[k].stop_asked);
  }
}

/// The official zetas of the steps that a problem of class S makes.
std::span<const double> zetas_of(const Problem& problem) {
  return std::span<const double>(test::class_s_zetas).first(static_cast<size_t>(problem.niter));
}

std::vector<double> numbers_of(const std::vector<OuterStep>& steps) {
  std::vector<double> numbers;
  for (const auto& step : steps) {
    numbers.push_back(step.zeta);
    numbers.push_back(step.residual_norm);
  }
  return numbers;
}

/// Class S; by default its first steps only where ranks outnumber cores: a wrong product shows in the first one already.
Problem class_s() {
  auto problem = *find_class("S");
  if (group().size() > 2) {
    problem.niter = test::by_extent(4, problem.niter);
    problem.reference_zeta = zetas_of(problem).back();
  }
  return problem;
}

TEST(SolverTest, ClassSHasTheOfficialZetasWithEveryKernelOnEveryGrid) {
  const auto problem = class_s();
  for_every_grid(every_kernel(), [&](const comm::BlockLayout& layout, const SolverConfig& config) {
    const auto steps = test::solve(problem, layout, config);
    expect_official_zetas(steps, zetas_of(problem));
    EXPECT_TRUE(meets_reference(problem, steps.back().zeta));
  });
}

TEST(SolverTest, ClassSOnUnevenAndEmptyPieces) {
  const auto problem = class_s();
  for (const auto& grid : comm::factorizations(group().size())) {
    for (const auto& named : test::layouts_of(problem.n, grid)) {
      SCOPED_TRACE(test::describe(named));
      expect_official_zetas(test::solve(problem, named.layout, {}), zetas_of(problem));
    }
  }
}

TEST(SolverTest, ClassWHasTheOfficialZetas) {
  const auto& problem = *find_class("W");
  const auto grid = comm::factorizations(group().size()).back();
  expect_official_zetas(test::solve(problem, comm::BlockLayout::even(problem.n, grid), {}),
                        test::class_w_zetas);
}

TEST(SolverTest, ClassSByEveryTransportOnEveryGridHasTheSameBitsOnEveryRankAndEveryTime) {
  auto problem = *find_class("S");
  problem.niter = test::by_extent(group().size() > 4 ? 2 : 4, problem.niter);
  for_every_grid(every_transport(), [&](const comm::BlockLayout& layout, const SolverConfig& config) {
    const auto steps = test::solve(problem, layout, config);
    expect_official_zetas(steps, zetas_of(problem));
    const auto first = numbers_of(steps);
    for (const auto& others : group().gather_all(std::span<const double>(first))) {
      EXPECT_TRUE(test::same_bits(others, first));
    }
    EXPECT_TRUE(test::same_bits(numbers_of(test::solve(problem, layout, config)), first));
  });
}

// ---------------------------------------------------------------- tiny problems, solved by elimination

using DenseMatrix = std::vector<std::vector<long double>>;

DenseMatrix dense(const Problem& problem) {
  const auto matrix = test::build_reference_matrix(problem, test::draw_reference_vectors(problem));
  DenseMatrix result(matrix.size(), std::vector<long double>(matrix.size()));
  for (size_t row = 0; row < matrix.size(); ++row) {
    for (const auto& [column, value] : matrix[row]) result[row][static_cast<size_t>(column)] = value;
  }
  return result;
}

/// A^-1 x by Gaussian elimination; no pivoting, since the matrices of NPB are definite.
std::vector<long double> solve_dense(DenseMatrix a, std::vector<long double> x) {
  const size_t n = x.size();
  for (size_t k = 0; k < n; ++k) {
    for (size_t row = k + 1; row < n; ++row) {
      const long double factor = a[row][k] / a[k][k];
      for (size_t column = k; column < n; ++column) a[row][column] -= factor * a[k][column];
      x[row] -= factor * x[k];
    }
  }
  for (size_t k = n; k-- > 0;) {
    for (size_t column = k + 1; column < n; ++column) x[k] -= a[k][column] * x[column];
    x[k] /= a[k][k];
  }
  return x;
}

/// Zeta of every outer step, with exact solves.
std::vector<double> exact_zetas(const Problem& problem) {
  const auto a = dense(problem);
  std::vector<long double> x(a.size(), 1.0L);
  std::vector<double> zetas;
  for (int k = 0; k < problem.niter; ++k) {
    const auto z = solve_dense(a, x);
    long double xz = 0.0L;
    long double zz = 0.0L;
    for (size_t i = 0; i < x.size(); ++i) {
      xz += x[i] * z[i];
      zz += z[i] * z[i];
    }
    zetas.push_back(static_cast<double>(problem.shift + 1.0L / xz));
    for (size_t i = 0; i < x.size(); ++i) x[i] = z[i] / std::sqrt(zz);
  }
  return zetas;
}

TEST(SolverTest, TinyProblemsHaveTheZetasOfExactSolves) {
  // 25 CG steps solve systems of this order to rounding, and more: the steps after the solution must change
  // nothing.
  for (auto problem : {test::custom_problem(1, 1), test::custom_problem(2, 2), test::custom_problem(5, 1),
                       test::custom_problem(5, 5), test::custom_problem(7, 3)}) {
    problem.niter = 3;
    const auto exact = exact_zetas(problem);
    for (const auto& grid : comm::factorizations(group().size())) {
      for (const auto& named : test::layouts_of(problem.n, grid)) {
        SCOPED_TRACE(test::describe(named) + ", nonzer " + std::to_string(problem.nonzer));
        const auto steps = test::solve(problem, named.layout, {});
        EXPECT_EQ(steps.size(), exact.size());
        for (size_t k = 0; k < steps.size(); ++k) {
          EXPECT_TRUE(std::isfinite(steps[k].residual_norm));
          // zeta is the difference of the shift 10 and a number near it: 1e-13 is a hundred roundings of 10.
          EXPECT_NEAR(steps[k].zeta, exact[k], 1e-13 * problem.shift) << "outer step " << k + 1;
        }
      }
    }
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
