// Reproducible sums: the same bits of zeta and of every residual as on one rank, on every grid, cut, transport, kernel, form of the
// sum and number of threads. What is compared with is computed by one rank alone, so all numbers of ranks agree.

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "support/bits.hpp"
#include "support/layouts.hpp"
#include "support/npb_facts.hpp"
#include "support/solver_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::reproducible_test {
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

/// On rank 0 alone, by the plainest kernel; the other ranks get them.
std::vector<double> figures_of_one_rank(const Problem& problem) {
  std::string bytes;
  if (group().rank() == 0) {
    comm::RankGroup alone(MPI_COMM_SELF);
    const auto figures =
        figures_of(test::solve(problem, comm::BlockLayout::even(problem.n, {.columns = 1, .rows = 1}),
                               {.kernel = &kernels::kernel_named("scalar"), .is_reproducible = true}, alone));
    bytes.assign(reinterpret_cast<const char*>(figures.data()), figures.size() * sizeof(double));
  }
  bytes = group().broadcast(std::move(bytes));
  std::vector<double> figures(bytes.size() / sizeof(double));
  std::memcpy(figures.data(), bytes.data(), bytes.size());
  return figures;
}

std::vector<const kernels::KernelRow*> reproducible_kernels() {
  std::vector<const kernels::KernelRow*> rows;
  for (const auto& row : kernels::kernel_table()) {
    if (row.makes_reproducible && row.why_unavailable().empty()) rows.push_back(&row);
  }
  return rows;
}

/// All combinations that go together, with each transport that serves here.
std::vector<std::vector<test::SolverConfig>> configs_of_transports() {
  // Threads of ranks that share cores take long.
  const std::vector<int> thread_counts = test::is_campaign() ? std::vector{1, 2, 4} : std::vector{1, 2};
  std::vector<std::vector<test::SolverConfig>> all;
  for (const auto& transport : comm::transport_table()) {
    if (!transport.why_unavailable(group()).empty()) continue;
    auto& configs = all.emplace_back();
    for (const auto* kernel : reproducible_kernels()) {
      for (const int thread_count : thread_counts) {
        for (const bool overlaps : {false, true}) {
          for (const auto form : transport.sum_forms)
            configs.push_back({.sum_form = form,
                               .kernel = kernel,
                               .transport = &transport,
                               .thread_count = thread_count,
                               .overlaps = overlaps,
                               .is_reproducible = true});
        }
      }
    }
  }
  return all;
}

/// A choice that goes through all combinations from turn to turn: in the campaign one with each transport, else one
/// or two.
std::vector<test::SolverConfig> configs(size_t turn) {
  std::vector<test::SolverConfig> chosen;
  if (test::is_campaign()) {
    // No divisor in common with the number of kernels, threads, overlaps or forms.
    constexpr size_t stride = 7;
    for (const auto& of_transport : configs_of_transports())
      chosen.push_back(of_transport[(turn * stride + chosen.size()) % of_transport.size()]);
    return chosen;
  }
  constexpr size_t stride = 61;
  std::vector<test::SolverConfig> all;
  for (const auto& of_transport : configs_of_transports())
    all.insert(all.end(), of_transport.begin(), of_transport.end());
  for (size_t k = turn % stride; k < all.size(); k += stride) chosen.push_back(all[k]);
  return chosen;
}

std::string describe(const test::SolverConfig& config) {
  return std::string(config.kernel->name) + ", " + std::string(config.transport->name) + ", threads " +
         std::to_string(config.thread_count) + (config.overlaps ? ", overlap" : "") + ", sum " +
         std::to_string(static_cast<int>(config.sum_form));
}

void expect_same_bits(const Problem& problem, const test::NamedLayout& named,
                      const test::SolverConfig& config, const std::vector<double>& expected) {
  SCOPED_TRACE("class " + problem.class_name + ", " + test::describe(named) + ", " + describe(config));
  const auto figures = figures_of(test::solve(problem, named.layout, config));
  EXPECT_TRUE(test::same_bits(figures, expected))
      << "zeta " << figures.front() << " instead of " << expected.front();
}

/// With many ranks on few cores MPI's collectives take long, and cuts with all rows in one piece the longest.
bool has_many_ranks() {
  constexpr int many_ranks = 12;
  return group().size() > many_ranks;
}

/// In the campaign the first `most` of test::layouts_of(), with many ranks the first one; else 2 or, with many ranks, one
/// of these by turns.
std::vector<test::NamedLayout> chosen_layouts(int64_t n, comm::ProcessGrid grid, size_t turn, int most) {
  const auto all = test::layouts_of(n, grid);
  if (!test::is_campaign())
    return has_many_ranks() ? std::vector{all.at(turn % 2)} : std::vector{all.at(0), all.at(1)};
  return {all.begin(), all.begin() + (has_many_ranks() ? 1 : most)};
}

void expect_same_bits_on_every_grid(const Problem& problem, int most_layouts) {
  const auto expected = figures_of_one_rank(problem);
  // Different numbers of ranks begin with different configurations.
  const auto first_turn = static_cast<size_t>(group().size()) * 5;
  auto turn = first_turn;
  for (const auto& grid : comm::factorizations(group().size())) {
    for (const auto& named : chosen_layouts(problem.n, grid, turn, most_layouts)) {
      const auto chosen = configs(turn++);
      if (test::is_campaign()) {
        ASSERT_EQ(chosen.size(), configs_of_transports().size());
      }
      for (const auto& config : chosen) expect_same_bits(problem, named, config, expected);
    }
  }
  EXPECT_GT(turn, first_turn);
}

TEST(ReproducibleTest, ClassSHasTheSameBitsEverywhere) {
  expect_same_bits_on_every_grid(short_problem("S", 2), 4);
}

TEST(ReproducibleTest, ClassWHasTheSameBitsEverywhere) {
  constexpr int most_ranks = 2;
  if (group().size() > most_ranks && !test::is_campaign())
    GTEST_SKIP() << "class W takes up to 2 ranks, in the campaign all";
  expect_same_bits_on_every_grid(short_problem("W", 1), 4);
}

/// The 12 grids of 1, 2, 3, 4 and 6 ranks.
void expect_same_bits_of_large(const char* class_name) {
  const bool is_chosen = group().size() <= 4 || group().size() == 6;
  if (!test::is_campaign() || !is_chosen)
    GTEST_SKIP() << "classes A and B take 1, 2, 3, 4 and 6 ranks in the campaign";
  expect_same_bits_on_every_grid(short_problem(class_name, 1), 1);
}

TEST(ReproducibleTest, ClassAHasTheSameBitsEverywhere) { expect_same_bits_of_large("A"); }

TEST(ReproducibleTest, ClassBHasTheSameBitsEverywhere) { expect_same_bits_of_large("B"); }

/// With few ranks everything that can be chosen goes with everything else.
TEST(ReproducibleTest, EveryCombinationHasTheSameBits) {
  constexpr int most_ranks = 4;
  if (!test::is_campaign() || group().size() > most_ranks)
    GTEST_SKIP() << "every combination takes up to 4 ranks in the campaign";
  const auto problem = short_problem("S", 1);
  const auto expected = figures_of_one_rank(problem);
  for (const auto& grid : comm::factorizations(group().size())) {
    const auto named = test::layouts_of(problem.n, grid).at(1);
    for (const auto& of_transport : configs_of_transports()) {
      for (const auto& config : of_transport) expect_same_bits(problem, named, config, expected);
    }
  }
}

/// The bits are those of a right result, and usual sums have others on some grid: the test above can fail.
TEST(ReproducibleTest, ZetaIsTheOfficialOne) {
  if (has_many_ranks() && !test::is_campaign())
    GTEST_SKIP() << "bits of a right result have been the same on fewer ranks";
  const auto problem = *find_class("S");
  const auto grid = comm::factorizations(group().size()).back();
  const auto steps =
      test::solve(problem, comm::BlockLayout::even(problem.n, grid),
                  {.kernel = &kernels::default_reproducible_kernel(), .is_reproducible = true});
  ASSERT_EQ(steps.size(), static_cast<size_t>(problem.niter));
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
    differs = !test::same_bits(figures, expected);
    if (differs) break;
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace cg2d::reproducible_test
