// zeta of classes S and W on every grid of many ranks. (Few ranks: solver_test.cpp.) One start of the ranks for all their grids: with more
// ranks than cores MPI takes longer to start them than class S takes. (tests/program/class_grids_test.py starts the program for every grid.)

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/solver_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::all_grids_test {
namespace {

using test::group;

void expect_reference_zeta_on_every_grid(const Problem& problem, const test::SolverConfig& config) {
  if (!config.transport->why_unavailable(group()).empty()) return;
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE("class " + problem.class_name + ", grid " + grid.name() + ", " + test::describe(config));
    const auto steps = test::solve(problem, comm::BlockLayout::even(problem.n, grid), config);
    ASSERT_EQ(steps.size(), static_cast<size_t>(problem.niter));
    EXPECT_TRUE(meets_reference(problem, steps.back().zeta));
    test::expect_official_zetas(steps, problem.class_name == "S"
                                           ? std::span<const double>(test::class_s_zetas)
                                           : test::class_w_zetas);
  }
}

TEST(AllGridsTest, ClassS) { expect_reference_zeta_on_every_grid(*find_class("S"), {}); }

/// Many ranks on few cores take long, so by default other transports do the first steps only: a wrong product shows in the first one already.
TEST(AllGridsTest, ClassSByOtherTransports) {
  auto problem = *find_class("S");
  problem.niter = test::by_extent(3, problem.niter);
  problem.reference_zeta = test::class_s_zetas[static_cast<size_t>(problem.niter) - 1];
  expect_reference_zeta_on_every_grid(
      problem, {.kernel = &kernels::kernel_named("symmetric"), .transport = comm::find_transport("shared")});
  expect_reference_zeta_on_every_grid(problem, {.transport = comm::find_transport("put")});
  // Beyond that each collective takes long on two cores; `cg2d sweep --transport native` does them all.
  constexpr int most_ranks = 12;
  if (group().size() <= most_ranks)
    expect_reference_zeta_on_every_grid(problem, {.transport = comm::find_transport("native")});
}

TEST(AllGridsTest, ClassW) {
  constexpr int most_ranks = 16;
  if (group().size() > most_ranks) GTEST_SKIP() << "class W is tested on up to 16 ranks";
  expect_reference_zeta_on_every_grid(*find_class("W"), {.transport = comm::find_transport("shared")});
}

}  // namespace
}  // namespace cg2d::all_grids_test
