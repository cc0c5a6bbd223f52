// The benchmark's iteration with several threads in every rank.

#include <gtest/gtest.h>

#include <vector>

#include "support/bits.hpp"
#include "support/npb_reference.hpp"
#include "support/solver_run.hpp"

namespace cg2d::solver_threads_test {
namespace {

using test::figures_of;
using test::group;

/// The steps of a solve, whose bits are the same again.
std::vector<OuterStep> repeated_solve(const Problem& problem, const comm::BlockLayout& layout,
                                      const test::SolverConfig& config) {
  auto steps = test::solve(problem, layout, config);
  EXPECT_TRUE(test::same_bits(figures_of(test::solve(problem, layout, config)), figures_of(steps)));
  return steps;
}

TEST(SolverThreadsTest, ClassSHasTheOfficialZetasWithEveryKernel) {
  const auto problem = test::short_problem("S", 4);
  for (const auto& grid : comm::factorizations(group().size())) {
    for (const auto* kernel : test::usable_kernels()) {
      for (const int thread_count : {2, 3}) {
        const test::SolverConfig config{.kernel = kernel, .thread_count = thread_count};
        SCOPED_TRACE("grid " + grid.name() + ", " + test::describe(config));
        test::expect_official_zetas(
            repeated_solve(problem, comm::BlockLayout::even(problem.n, grid), config));
      }
    }
  }
}

TEST(SolverThreadsTest, PiecesLongEnoughForParallelVectorOperations) {
  // Pieces of 20 000 or 10 000: above the length from which vector operations use the threads.
  const auto problem = test::custom_problem(20'000, 2, 10.0, 2);
  const auto layout = comm::BlockLayout::even(problem.n, comm::factorizations(group().size()).front());
  const auto on_one_thread = test::solve(problem, layout, {});
  const auto on_three = repeated_solve(problem, layout, {.thread_count = 3});
  EXPECT_EQ(on_three.size(), on_one_thread.size());
  for (size_t k = 0; k < on_three.size(); ++k)
    EXPECT_NEAR(on_three[k].zeta, on_one_thread[k].zeta, test::relative_tolerance * problem.shift);
}

}  // namespace
}  // namespace cg2d::solver_threads_test
