// The benchmark's iteration with several threads in every rank.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/bits.hpp"
#include "support/npb_facts.hpp"
#include "support/npb_reference.hpp"
#include "support/solver_run.hpp"

namespace cg2d::solver_threads_test {
namespace {

using test::group;
using test::SolverConfig;

std::vector<double> zetas_of(const std::vector<OuterStep>& steps) {
  std::vector<double> zetas;
  for (const auto& step : steps) zetas.push_back(step.zeta);
  return zetas;
}

TEST(SolverThreadsTest, ClassSHasTheOfficialZetasWithEveryKernel) {
  auto problem = *find_class("S");
  problem.niter = 4;
  for (const auto& grid : comm::factorizations(group().size())) {
    const auto layout = comm::BlockLayout::even(problem.n, grid);
    for (const auto& kernel : kernels::kernel_table()) {
      if (!kernel.why_unavailable().empty()) continue;
      for (const int thread_count : {2, 3}) {
        SCOPED_TRACE("grid " + grid.name() + ", kernel " + std::string(kernel.name) + ", " +
                     std::to_string(thread_count) + " threads");
        const SolverConfig config{.kernel = &kernel, .thread_count = thread_count};
        const auto zetas = zetas_of(test::solve(problem, layout, config));
        for (size_t k = 0; k < zetas.size(); ++k) {
          EXPECT_NEAR(zetas[k], test::class_s_zetas[k], test::relative_tolerance * test::class_s_zetas[k]);
        }
        EXPECT_TRUE(test::same_bits(zetas_of(test::solve(problem, layout, config)), zetas));
      }
    }
  }
}

TEST(SolverThreadsTest, PiecesLongEnoughForParallelVectorOperations) {
  // Pieces of 20 000 or 10 000: above the length from which vector operations use the threads.
  auto problem = test::custom_problem(20'000, 2, 10.0, 2);
  const auto grid = comm::factorizations(group().size()).front();
  const auto layout = comm::BlockLayout::even(problem.n, grid);
  const auto on_one_thread = zetas_of(test::solve(problem, layout, {}));
  const auto on_three = zetas_of(test::solve(problem, layout, {.thread_count = 3}));
  EXPECT_EQ(on_three.size(), on_one_thread.size());
  for (size_t k = 0; k < on_three.size(); ++k) {
    EXPECT_NEAR(on_three[k], on_one_thread[k], test::relative_tolerance * problem.shift);
  }
  EXPECT_TRUE(test::same_bits(zetas_of(test::solve(problem, layout, {.thread_count = 3})), on_three));
}

}  // namespace
}  // namespace cg2d::solver_threads_test
