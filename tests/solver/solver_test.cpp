// The benchmark's iteration on every grid of the ranks, against the official program's zeta of every outer
// step; also with products that begin before their operand is complete.

#include "cg/solver/npb_iteration.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <span>
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

/// Whether products begin before their operand is complete; alone a rank has nothing to wait for.
std::vector<bool> overlaps() { return group().size() == 1 ? std::vector{false} : std::vector{false, true}; }

/// Every transport with each form of the sum that it has.
std::vector<Configuration> every_transport(bool is_overlapped) {
  return crossed({.overlaps = is_overlapped},
                 {{"transport", test::usable_transports()}, {"sum_form", names_of(sum_form_table())}});
}

/// visit(layout, config) for every grid of the ranks and every config, with the pieces of class S even.
template <typename Visit>
void for_every_grid(const std::vector<Configuration>& configs, const Visit& visit) {
  for (const auto& grid : comm::factorizations(group().size())) {
    for (auto config : configs) {
      config.grid = grid;
      SCOPED_TRACE(configuration_key(config));
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
  for (const bool is_overlapped : overlaps()) {
    auto problem = class_s();
    if (is_overlapped) problem = test::short_problem("S", 2);
    const auto configs =
        crossed({.overlaps = is_overlapped}, {{"kernel", names_of(kernels::kernel_table())}});
    for_every_grid(configs, [&](const comm::BlockLayout& layout, const auto& config) {
      const auto steps = test::solve(problem, layout, config);
      expect_official_steps(steps, problem);
      EXPECT_TRUE(is_overlapped || meets_reference(problem, steps.back().zeta));
    });
  }
}

TEST(SolverTest, ClassSOnUnevenAndEmptyPieces) {
  const auto problem = class_s();
  test::for_every_layout(problem.n, group().size(), [&](const test::NamedLayout& named) {
    for (const bool is_overlapped : overlaps()) {
      for (const auto storage : {kernels::Storage::whole, kernels::Storage::half})
        expect_official_steps(test::solve(problem, named.layout,
                                          {.kernel = std::string(kernels::default_kernel(storage).name),
                                           .overlaps = is_overlapped}),
                              problem);
    }
  });
}

TEST(SolverTest, ClassWHasTheOfficialZetas) {
  const auto& problem = *find_class("W");
  const auto grid = comm::factorizations(group().size()).back();
  expect_official_steps(test::solve(problem, comm::BlockLayout::even(problem.n, grid), {}), problem,
                        test::class_w_zetas);
}

/// Native sums have an order of their own; with whole blocks it is another, too.
TEST(SolverTest, ClassSByEveryTransportOnEveryGridHasTheSameBitsOnEveryRankAndEveryTime) {
  auto problem = *find_class("S");
  problem.niter = test::by_extent(group().size() > 4 ? 2 : 4, problem.niter);
  for (const bool is_overlapped : overlaps()) {
    std::vector<double> of_grid;  // by the first transport
    for_every_grid(every_transport(is_overlapped), [&](const comm::BlockLayout& layout, const auto& config) {
      const auto steps = test::solve(problem, layout, config);
      expect_official_steps(steps, problem);
      const auto first = test::figures_of(steps);
      for (const auto& others : group().gather_all(std::span<const double>(first))) {
        EXPECT_TRUE(test::same_bits(others, first));
      }
      EXPECT_TRUE(test::same_bits(test::figures_of(test::solve(problem, layout, config)), first));
      if (!comm::find_transport(config.transport)->follows_schedules()) return;
      if (config.sum_form != Configuration{}.sum_form) return;
      if (config.transport == Configuration{}.transport) of_grid = first;
      EXPECT_TRUE(test::same_bits(first, of_grid));
    });
  }
}

/// Class A is large enough: its strips are multiplied in shares, with work for MPI in between. By default the
/// kernels take turns on the grids of four ranks.
TEST(SolverTest, OverlappedStripsInShares) {
  if (group().size() == 1 || (group().size() != 4 && !test::is_thorough())) return;
  const auto class_a = test::short_problem("A", 1);
  const auto grids = comm::factorizations(group().size());
  size_t turn = 0;
  for (const std::string name : {"sell", "sell-rows", "csr-simd", "csr-short", "symmetric",
                                 "symmetric-distinct", "symmetric-scalar"}) {
    ++turn;
    for (size_t k = 0; k < grids.size(); ++k) {
      if (!test::is_thorough() && turn % grids.size() != k) continue;
      SCOPED_TRACE("grid " + grids[k].name() + ", kernel " + name);
      const auto layout = comm::BlockLayout::even(class_a.n, grids[k]);
      const auto whole = test::solve(class_a, layout, {.kernel = name});
      const auto overlapped = test::solve(class_a, layout, {.kernel = name, .overlaps = true});
      EXPECT_NEAR(overlapped[0].zeta, whole[0].zeta, test::relative_tolerance * whole[0].zeta);
    }
  }
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

TEST(SolverTest, NoticesTheSignsOfTheCurvature) {
  struct Case {
    double shift;
    bool sees_positive;
    bool sees_negative;
  };
  const auto& official = *find_class("S");
  // The stored matrix of every class is negative definite. Without shift it is a sum of squares and rcond, positive definite; 2 is within the
  // spectrum, whose upper end is above the largest diagonal entry.
  for (const auto& [shift, sees_positive, sees_negative] :
       {Case{official.shift, false, true}, {0.0, true, false}, {2.0, true, true}}) {
    auto problem = official;
    problem.shift = shift;
    SingleSteps steps(problem);
    static_cast<void>(steps.solver.outer_step());
    const auto& signs = steps.solver.curvature_signs();
    EXPECT_EQ(signs.saw_positive, sees_positive) << shift;
    EXPECT_EQ(signs.saw_negative, sees_negative) << shift;
    EXPECT_EQ(signs.indefinite(), sees_positive && sees_negative);
    steps.solver.reset();
    EXPECT_FALSE(signs.saw_positive || signs.saw_negative);
  }
}

}  // namespace
}  // namespace cg2d::solver_test
