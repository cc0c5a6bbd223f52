// The benchmark's iteration with several threads in every rank. And threads that are bound stay where they were put, and come free again.

#include <gtest/gtest.h>
#include <omp.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/solver/vector_ops.hpp"
#include "support/bits.hpp"
#include "support/npb_reference.hpp"
#include "support/solver_run.hpp"

namespace cg2d::solver_threads_test {
namespace {

using test::figures_of;
using test::group;

/// The steps of a solve, whose bits are the same again.
std::vector<OuterStep> repeated_solve(const Problem& problem, const comm::BlockLayout& layout,
                                      const Configuration& configuration) {
  auto steps = test::solve(problem, layout, configuration);
  EXPECT_TRUE(test::same_bits(figures_of(test::solve(problem, layout, configuration)), figures_of(steps)));
  return steps;
}

TEST(SolverThreadsTest, ClassSHasTheOfficialZetasWithEveryKernel) {
  const auto problem = test::short_problem("S", 4);
  for (const auto& grid : comm::factorizations(group().size())) {
    for (const auto& configuration :
         crossed({.grid = grid}, {{"kernel", names_of(kernels::kernel_table())}, {"threads", {"2", "3"}}})) {
      SCOPED_TRACE(configuration_key(configuration));
      test::expect_official_zetas(
          repeated_solve(problem, comm::BlockLayout::even(problem.n, grid), configuration));
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

// ---------------------------------------------------------------- binding

std::vector<std::string> lists_of_threads(int thread_count) {
  std::vector<std::string> lists(static_cast<size_t>(thread_count));
#pragma omp parallel num_threads(thread_count)
  lists[static_cast<size_t>(omp_get_thread_num())] = allowed_processors();
  return lists;
}

std::vector<std::string> nowhere_else(int thread_count) {
  return std::vector<std::string>(static_cast<size_t>(thread_count), allowed_processors());
}

TEST(ThreadBindingTest, ThreadsAreOnCoresOfTheirOwnWhileItLives) {
  for (const int thread_count : {2, 3, 2, 1 + static_cast<int>(std::thread::hardware_concurrency())}) {
    SCOPED_TRACE(thread_count);
    const auto free = nowhere_else(thread_count);
    const auto environment = inspect_environment(group(), thread_count);
    {
      const ThreadBinding binding(group(), environment, BindMode::automatic, thread_count);
      const auto& facts = binding.result();
      EXPECT_EQ(facts.is_bound, facts.why_not.empty());
      EXPECT_EQ(facts.is_bound, !environment.oversubscribed);
      ASSERT_EQ(facts.ranks.size(), static_cast<size_t>(group().size()));
      EXPECT_EQ(facts.ranks[static_cast<size_t>(group().rank())], lists_of_threads(thread_count));
      std::set<std::string> different;
      for (const auto& threads : facts.ranks) different.insert(threads.begin(), threads.end());
      if (facts.is_bound) {
        EXPECT_EQ(different.size(), static_cast<size_t>(group().size() * thread_count));
        // Work on one thread in between does not let the others go.
        std::vector<double> numbers(100'000, 1.0);
        EXPECT_EQ(VectorOps(1).dot(numbers, numbers), 100'000.0);
        EXPECT_EQ(VectorOps(thread_count).dot(numbers, numbers), 100'000.0);
        EXPECT_EQ(facts.ranks[static_cast<size_t>(group().rank())], lists_of_threads(thread_count));
      } else {
        EXPECT_EQ(lists_of_threads(thread_count), free);
      }
    }
    EXPECT_EQ(lists_of_threads(thread_count), free);
    EXPECT_EQ(lists_of_threads(thread_count + 2), nowhere_else(thread_count + 2));
  }
}

}  // namespace
}  // namespace cg2d::solver_threads_test
