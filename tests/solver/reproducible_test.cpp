// Reproducible sums: the same bits of zeta and of every residual as on one rank, on every grid, cut, transport, kernel, form of the
// sum and number of threads. What is compared with is computed by each rank alone, so all numbers of ranks agree.

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "support/bits.hpp"
#include "support/layouts.hpp"
#include "support/npb_facts.hpp"
#include "support/solver_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d {
namespace {

using test::group;

std::vector<double> figures_of(const std::vector<OuterStep>& steps) {
  std::vector<double> figures;
  for (const auto& step : steps) {
    figures.push_back(step.zeta);
    figures.push_back(step.residual_norm);
  }
  return figures;
}

Problem short_problem(const char* class_name, int niter) {
  auto problem = *find_class(class_name);
  problem.niter = niter;
  return problem;
}

/// On one rank, by the plainest kernel.
std::vector<double> figures_of_one_rank(const Problem& problem) {
  comm::RankGroup alone(MPI_COMM_SELF);
  return figures_of(test::solve(problem, comm::BlockLayout::even(problem.n, {.columns = 1, .rows = 1}),
                                {.kernel = &kernels::kernel_named("scalar"), .is_reproducible = true},
                                alone));
}

std::vector<const kernels::KernelRow*> reproducible_kernels() {
  std::vector<const kernels::KernelRow*> rows;
  for (const auto& row : kernels::kernel_table()) {
    if (row.make_reproducible != nullptr && row.why_unavailable().empty()) rows.push_back(&row);
  }
  return rows;
}

/// All combinations that go together; by default a choice in which each value occurs.
std::vector<test::SolverConfig> configs(std::size_t turn) {
  // Threads of ranks that share cores take long.
  const std::vector<int> thread_counts = test::is_thorough() ? std::vector{1, 2, 4} : std::vector{1, 2};
  std::vector<test::SolverConfig> all;
  for (const auto& transport : comm::transport_table()) {
    if (!transport.why_unavailable(group()).empty()) continue;
    for (const auto* kernel : reproducible_kernels()) {
      for (const int thread_count : thread_counts) {
        for (const bool overlaps : {false, true}) {
          for (const auto form : transport.sum_forms)
            all.push_back({.sum_form = form,
                           .kernel = kernel,
                           .transport = &transport,
                           .thread_count = thread_count,
                           .overlaps = overlaps,
                           .is_reproducible = true});
        }
      }
    }
  }
  const bool few_ranks = group().size() <= 4;
  std::vector<test::SolverConfig> chosen;
  // A stride that has no divisor in common with the number of transports, kernels, threads or forms.
  const std::size_t stride = test::is_thorough() ? (few_ranks ? 5 : 23) : 31;
  for (std::size_t k = turn % stride; k < all.size(); k += stride) chosen.push_back(all[k]);
  return chosen;
}

std::string describe(const test::SolverConfig& config) {
  return std::string(config.kernel->name) + ", " + std::string(config.transport->name) + ", threads " +
         std::to_string(config.thread_count) + (config.overlaps ? ", overlap" : "") + ", sum " +
         std::to_string(static_cast<int>(config.sum_form));
}

void expect_same_bits_on_every_grid(const Problem& problem) {
  const auto expected = figures_of_one_rank(problem);
  std::size_t turn = 0;
  std::size_t compared = 0;
  for (const auto& grid : comm::factorizations(group().size())) {
    auto layouts = test::layouts_of(problem.n, grid);
    // Those with all rows in one piece take the longest.
    if (!test::is_thorough()) layouts.erase(layouts.begin() + 2, layouts.end());
    for (const auto& named : layouts) {
      for (const auto& config : configs(turn++)) {
        SCOPED_TRACE("class " + problem.class_name + ", " + test::describe(named) + ", " + describe(config));
        const auto figures = figures_of(test::solve(problem, named.layout, config));
        EXPECT_TRUE(test::same_bits(figures, expected))
            << "zeta " << figures.front() << " instead of " << expected.front();
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, comm::factorizations(group().size()).size());
}

TEST(ReproducibleTest, ClassSHasTheSameBitsEverywhere) {
  expect_same_bits_on_every_grid(short_problem("S", test::by_extent(2, 4)));
}

TEST(ReproducibleTest, ClassWHasTheSameBitsEverywhere) {
  constexpr int most_ranks = 2;
  if (group().size() > test::by_extent(most_ranks, 16))
    GTEST_SKIP() << "class W takes up to 2 ranks, in the thorough extent 16";
  expect_same_bits_on_every_grid(short_problem("W", 1));
}

/// The bits are those of a right result, and usual sums have others on some grid: the test above can fail.
TEST(ReproducibleTest, ZetaIsTheOfficialOne) {
  const auto problem = *find_class("S");
  const auto grid = comm::factorizations(group().size()).back();
  const auto steps =
      test::solve(problem, comm::BlockLayout::even(problem.n, grid),
                  {.kernel = &kernels::default_reproducible_kernel(), .is_reproducible = true});
  ASSERT_EQ(steps.size(), static_cast<std::size_t>(problem.niter));
  EXPECT_TRUE(meets_reference(problem, steps.back().zeta)) << steps.back().zeta;
}

TEST(ReproducibleTest, UsualSumsDependOnTheGrid) {
  if (group().size() < 4) GTEST_SKIP() << "few ranks have few grids";
  const auto problem = short_problem("S", 2);
  const auto expected = figures_of_one_rank(problem);
  bool differs = false;
  for (const auto& grid : comm::factorizations(group().size())) {
    const auto figures = figures_of(test::solve(problem, comm::BlockLayout::even(problem.n, grid),
                                                {.kernel = &kernels::kernel_named("csr-simd")}));
    differs |= !test::same_bits(figures, expected);
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace cg2d
