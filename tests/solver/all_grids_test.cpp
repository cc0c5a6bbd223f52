// zeta of classes S and W on every grid of the ranks. One start of the ranks for all their grids: with more
// ranks than cores MPI takes longer to start them than class S takes. (tests/program/class_grids_test.py starts the
// program for every grid.)

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "support/npb_facts.hpp"
#include "support/solver_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::all_grids_test {
namespace {

using test::group;

void expect_reference_zeta_on_every_grid(const Problem& problem, const test::SolverConfig& config) {
  const double reference = problem.reference_zeta.value();
  const auto grids = comm::factorizations(group().size());
  ASSERT_FALSE(grids.empty());
  for (const auto& grid : grids) {
    SCOPED_TRACE("class " + problem.class_name + ", grid " + grid.name() + ", kernel " +
                 std::string(config.kernel->name) + ", transport " + std::string(config.transport->name));
    const auto steps = test::solve(problem, comm::BlockLayout::even(problem.n, grid), config);
    ASSERT_EQ(steps.size(), static_cast<size_t>(problem.niter));
    EXPECT_NEAR(steps.back().zeta, reference, test::relative_tolerance * reference);
    EXPECT_TRUE(meets_reference(problem, steps.back().zeta));
  }
}

/// Class S by a transport that is not the default. Many ranks on few cores take long, so by default they do the
/// first steps only: a wrong product shows in the first one already.
void expect_class_s_on_every_grid(const test::SolverConfig& config) {
  auto problem = *find_class("S");
  constexpr int many_ranks = 8;
  if (group().size() > many_ranks) {
    problem.niter = test::by_extent(3, problem.niter);
    problem.reference_zeta = test::class_s_zetas[static_cast<size_t>(problem.niter) - 1];
  }
  expect_reference_zeta_on_every_grid(problem, config);
}

TEST(AllGridsTest, ClassS) { expect_reference_zeta_on_every_grid(*find_class("S"), {}); }

TEST(AllGridsTest, ClassSInSymmetricStorage) {
  const auto* const transport = comm::find_transport("shared");
  if (!transport->why_unavailable(group()).empty()) GTEST_SKIP() << "ranks cannot share memory here";
  expect_class_s_on_every_grid({.kernel = &kernels::kernel_named("symmetric"), .transport = transport});
}

TEST(AllGridsTest, ClassSByPuts) {
  const auto* const transport = comm::find_transport("put");
  if (!transport->why_unavailable(group()).empty()) GTEST_SKIP() << "ranks cannot share memory here";
  expect_class_s_on_every_grid({.transport = transport});
}

TEST(AllGridsTest, ClassSByCollectivesOfMpi) {
  // Beyond that each collective takes long on two cores; `cg2d sweep --transport native` does them all.
  constexpr int most_ranks = 12;
  if (group().size() > most_ranks) GTEST_SKIP() << "native is tested on up to 12 ranks";
  expect_class_s_on_every_grid({.transport = comm::find_transport("native")});
}

TEST(AllGridsTest, ClassW) {
  constexpr int most_ranks = 16;
  if (group().size() > most_ranks) GTEST_SKIP() << "class W is tested on up to 16 ranks";
  expect_reference_zeta_on_every_grid(*find_class("W"), {.transport = comm::find_transport("shared")});
}

}  // namespace
}  // namespace cg2d::all_grids_test
